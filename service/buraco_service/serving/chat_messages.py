"""The content of SendChat, validated."""

from __future__ import annotations

from typing import Final

import regex

from buraco.v1 import table_service_pb2 as pb
from buraco_service.requests import RequestProblems
from buraco_service.serving.visible_text import normalise_text

MAX_CHARACTERS: Final = 500
"""As people count them: extended grapheme clusters (UAX #29)."""
MAX_BYTES: Final = 8000
"""In UTF-8: room for four bytes a character, and a bound for sequences of joined ones."""

PHRASES: Final = frozenset(
    {
        "HELLO",
        "GOOD_LUCK",
        "HAVE_FUN",
        "THANKS",
        "YOU_ARE_WELCOME",
        "SORRY",
        "NO_PROBLEM",
        "ONE_MOMENT",
        "I_AM_BACK",
        "TAKE_YOUR_TIME",
        "HURRY_UP_PLEASE",
        "WELL_PLAYED",
        "NICE_BURACO",
        "WOW",
        "WHAT_A_PITY",
        "BAD_LUCK",
        "LUCKY_ME",
        "YES",
        "NO",
        "CONGRATULATIONS",
        "GOOD_GAME",
        "AGAIN",
        "WITH_PLEASURE",
        "GOODBYE",
    }
)
"""The codes of the phrases in `clients/texts`."""

_LINE_BREAKS: Final = regex.compile(r"[\t\n\v\f\r\u0085\u2028\u2029]+")
_AUDIENCES: Final = {
    pb.CHAT_AUDIENCE_UNSPECIFIED: pb.CHAT_AUDIENCE_TABLE,
    pb.CHAT_AUDIENCE_TABLE: pb.CHAT_AUDIENCE_TABLE,
    pb.CHAT_AUDIENCE_PARTNER: pb.CHAT_AUDIENCE_PARTNER,
}


def read_message(request: pb.SendChatRequest, problems: RequestProblems) -> pb.ChatMessage:
    """Return the audience, and the text or phrase, of a request; add a problem for what cannot be sent."""
    message = pb.ChatMessage(audience=_AUDIENCES.get(request.audience, pb.CHAT_AUDIENCE_UNSPECIFIED))
    problems.check("audience", request.audience in _AUDIENCES, "TABLE or PARTNER")
    which = request.WhichOneof("content")
    if which == "text":
        message.text = _read_text(request.text, problems)
    elif which == "phrase":
        problems.check("phrase", request.phrase in PHRASES, "no phrase: those of clients/texts may be sent")
        message.phrase = request.phrase
    else:
        problems.add("content", "text or phrase must be given")
    return message


def _read_text(sent: str, problems: RequestProblems) -> str:
    try:
        return normalise_text(_LINE_BREAKS.sub(" ", sent), MAX_CHARACTERS, MAX_BYTES, "a message")
    except ValueError as error:
        problems.add("text", str(error))
        return ""
