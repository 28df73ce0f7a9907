"""The formats of messages on the web port, by content type; and JSON as another form of a message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pool, json_format
from google.protobuf.message import Message as PbMessage
from google.protobuf.message_factory import GetMessageClass

from buraco_service import errors


class Format(NamedTuple):
    """How one call is written: its protocol (for metrics and logs), and whether its messages are JSON."""

    name: str
    content_type: bytes
    is_json: bool
    is_plain: bool
    """The body is the message itself, as in a unary call by Connect."""


_PLAIN: Final = (
    Format("connect", b"application/proto", is_json=False, is_plain=True),
    Format("connect_json", b"application/json", is_json=True, is_plain=True),
)
_STREAMED: Final = (
    Format("connect", b"application/connect+proto", is_json=False, is_plain=False),
    Format("connect_json", b"application/connect+json", is_json=True, is_plain=False),
)
_GRPC_WEB: Final = (
    Format("grpc_web", b"application/grpc-web", is_json=False, is_plain=False),
    Format("grpc_web", b"application/grpc-web+proto", is_json=False, is_plain=False),
    Format("grpc_web_json", b"application/grpc-web+json", is_json=True, is_plain=False),
)
_UNARY_FORMATS: Final = {form.content_type: form for form in (*_PLAIN, *_GRPC_WEB)}
_STREAM_FORMATS: Final = {form.content_type: form for form in (*_STREAMED, *_GRPC_WEB)}

PROTOCOLS: Final = ("connect", "connect_json", "grpc_web", "grpc_web_json")
"""The names of the protocols."""

# What json_format may raise for a text that is no message: it checks less than it should.
_NO_MESSAGE: Final = (
    *(json_format.ParseError, ArithmeticError, AttributeError, LookupError),
    *(RecursionError, TypeError, ValueError),
)


class Types(NamedTuple):
    """The messages of a method, and whether it answers with a stream."""

    request: type[PbMessage]
    response: type[PbMessage]
    is_stream: bool

    @property
    def formats(self) -> Mapping[bytes, Format]:
        """Return the formats that the method takes, by content type."""
        return _STREAM_FORMATS if self.is_stream else _UNARY_FORMATS

    def read(self, form: Format, sent: bytes, max_bytes: int) -> bytes:
        """Return a request, serialised. Raise REQUEST_INVALID for a text that is none, LIMIT_REACHED if it is too long.

        Fields that this version does not know are ignored, as in a serialised message.
        """
        if not form.is_json:
            return sent
        if len(sent) > max_bytes:
            raise errors.message_too_large(len(sent), max_bytes)
        message = self.request()
        try:
            json_format.Parse(sent, message, ignore_unknown_fields=True)
        except _NO_MESSAGE as error:
            raise errors.malformed_protocol(f"the body is no request of this method in JSON: {error}") from None
        return message.SerializeToString()

    def write(self, form: Format, answer: bytes) -> bytes:
        """Return a response in the format."""
        if not form.is_json:
            return answer
        message = self.response.FromString(answer)
        return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


def read_content_type(header: bytes | None) -> bytes:
    """Return a content type without its parameters.

    >>> read_content_type(b"Application/JSON; charset=utf-8")
    b'application/json'
    """
    return (header or b"").partition(b";")[0].strip().lower()


def find_types(services: Iterable[str]) -> dict[str, Types]:
    """Return the types of each method of the services by its path. Their generated code has been imported."""
    found: dict[str, Types] = {}
    for service in services:
        descriptor: Any = descriptor_pool.Default().FindServiceByName(service)
        for method in descriptor.methods:
            found[f"/{service}/{method.name}"] = Types(
                GetMessageClass(method.input_type), GetMessageClass(method.output_type), method.server_streaming
            )
    return found
