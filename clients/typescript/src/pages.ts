import type { DealRecord } from "./generated/buraco/v1/table_pb.js";
import type { ChatMessage, GetRecordResponse, ListChatResponse } from "./generated/buraco/v1/table_service_pb.js";

/** Yield the finished deals after a deal number; `getPage` returns those of one call. */
export async function* iterateDeals(
  afterDeal: number,
  getPage: (afterDeal: number) => Promise<GetRecordResponse>,
): AsyncGenerator<DealRecord, void, undefined> {
  for (let after = afterDeal; ; ) {
    const page = await getPage(after);
    yield* page.deals;
    const last = page.deals.at(-1);
    if (!page.more || !last) return;
    after = last.dealNumber;
  }
}

/** Yield the messages after a number; `getPage` returns those of one call. */
export async function* iterateChat(
  afterMessage: bigint,
  getPage: (afterMessage: bigint) => Promise<ListChatResponse>,
): AsyncGenerator<ChatMessage, void, undefined> {
  for (let after = afterMessage; ; ) {
    const page = await getPage(after);
    yield* page.messages;
    const last = page.messages.at(-1);
    if (!page.more || !last) return;
    after = last.number;
  }
}
