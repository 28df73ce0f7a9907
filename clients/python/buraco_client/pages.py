"""Answers that come in pages, one item after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from buraco.v1 import table_pb2, table_service_pb2


async def iterate_chat(
    get_page: Callable[[table_service_pb2.ListChatRequest], Awaitable[table_service_pb2.ListChatResponse]],
    request: table_service_pb2.ListChatRequest,
) -> AsyncIterator[table_service_pb2.ChatMessage]:
    """Yield the messages of this request's page and of all that follow, got by `get_page`.

    async for message in iterate_chat(get_page, table_service_pb2.ListChatRequest(table_id=table_id)):
        ...
    """
    while True:
        page = await get_page(request)
        for message in page.messages:
            yield message
        if not page.more or not page.messages:
            return
        request.after_message = page.messages[-1].number


async def iterate_deals(
    get_page: Callable[[table_service_pb2.GetRecordRequest], Awaitable[table_service_pb2.GetRecordResponse]],
    request: table_service_pb2.GetRecordRequest,
) -> AsyncIterator[table_pb2.DealRecord]:
    """Yield the finished deals of this request's page and of all that follow, got by `get_page`.

    async for deal in iterate_deals(get_page, table_service_pb2.GetRecordRequest(table_id=table_id)):
        ...
    """
    while True:
        page = await get_page(request)
        for deal in page.deals:
            yield deal
        if not page.more or not page.deals:
            return
        request.after_deal = page.deals[-1].deal_number
