"""The peer: a grpc.aio server that answers with as many bytes as asked. Prints its port; ends with its input."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

SERVICE = "bench.Echo"
ANSWER = b"!"
"""What an answer begins with on one of two streams."""


async def serve() -> None:
    """Serve until standard input is closed."""
    answers: dict[bytes, bytes] = {}

    def answer(request: bytes) -> bytes:
        size, _, _ = request.partition(b" ")
        found = answers.get(size)
        if found is None:
            found = answers[size] = bytes(int(size))
        return found

    async def once(request: bytes, context: Any) -> bytes:
        return answer(request)

    async def stream(requests: AsyncIterator[bytes], context: Any) -> None:
        while (request := await context.read()) is not grpc.aio.EOF:
            await context.write(answer(request))

    pairs: dict[bytes, list[tuple[Any, asyncio.Lock]]] = {}

    async def pair(requests: AsyncIterator[bytes], context: Any) -> None:
        """Streams whose first messages are alike: what is said on one is answered there, and told on the other."""
        both = pairs.setdefault(await context.read(), [])
        both.append((context, asyncio.Lock()))
        while (request := await context.read()) is not grpc.aio.EOF:
            answered = answer(request)
            for stream, writing in both:
                async with writing:
                    await stream.write(ANSWER + answered[1:] if stream is context else answered)

    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    handlers: dict[str, Any] = {
        "Once": grpc.unary_unary_rpc_method_handler(once),
        "Stream": grpc.stream_stream_rpc_method_handler(stream),
        "Pair": grpc.stream_stream_rpc_method_handler(pair),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(serve())
