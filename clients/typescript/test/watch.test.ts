import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { BuracoError, type ClientOptions, type Update, type WatchOptions } from "../src/index.ts";
import { TableState, type WatchTableRequest, type WatchTableResponseSchema } from "../src/messages.ts";
import { BROKEN, fakeClient, refusal } from "./support/fake-service.ts";

type Message = MessageInitShape<typeof WatchTableResponseSchema>;
/** One stream: its messages, then an error, or silence; else it ends in order. */
type Script = readonly (Message | ConnectError | "silence")[];

const state = (revision: bigint, finished = false): Message => ({
  update: {
    case: "state",
    value: { table: { id: "t", revision, state: finished ? TableState.FINISHED : TableState.PLAYING } },
  },
});
const events = (revision: bigint, ended = false): Message => ({
  update: {
    case: "events",
    value: { revision, events: ended ? [{ event: { case: "matchEnded", value: {} } }] : [] },
  },
});
const view = (revision: bigint): Message => ({ update: { case: "view", value: { revision, view: {} } } });
const turn = (revision: bigint): Message => ({ update: { case: "turn", value: { revision, view: {} } } });
const chat = (number: bigint): Message => ({ update: { case: "chat", value: { number } } });
const presence = (...seats: number[]): Message => ({ update: { case: "presence", value: { seats } } });
const heartbeat: Message = { update: { case: "heartbeat", value: {} } };
const reconnect: Message = { update: { case: "reconnect", value: {} } };
const historyGone: Message = { update: { case: "historyGone", value: {} } };

/** Watch a service that answers by these streams, and return short names of the updates and the requests. */
async function watch(
  streams: readonly Script[],
  { until, ...options }: WatchOptions & { until?: number } = {},
  settings: ClientOptions = {},
): Promise<{ seen: string[]; requests: WatchTableRequest[] }> {
  const requests: WatchTableRequest[] = [];
  const client = fakeClient(
    {
      getTable: () => ({ table: { revision: 9n, state: TableState.FINISHED } }),
      watchTable: async function* (request, context) {
        requests.push(request);
        for (const step of streams[requests.length - 1] ?? []) {
          if (step === "silence") await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
          else if (step instanceof Error) throw step;
          else yield step;
        }
      },
    },
    settings,
  );
  const seen: string[] = [];
  for await (const update of client.watch("t", options)) {
    seen.push(short(update));
    if (seen.length === until) break;
  }
  return { seen, requests };
}

function short(update: Update): string {
  switch (update.kind) {
    case "connection":
      return update.state;
    case "chat":
      return `chat ${update.message.number}`;
    case "presence":
      return `presence ${update.seats}`;
    case "historyGone":
      return update.kind;
    default:
      return `${update.kind} ${update.revision}`;
  }
}

test("a watch yields the state, then changes, and ends with the match", async () => {
  const { seen } = await watch([[state(1n), events(2n), heartbeat, events(3n, true), "silence"]]);
  expect(seen).toEqual(["connected", "state 1", "events 2", "events 3"]);
});

test("a broken watch resumes after the last revision, without loss or duplicate", async () => {
  const streams = [[state(1n), events(2n), BROKEN], [BROKEN], [events(2n), events(3n), events(4n, true)]];
  const { seen, requests } = await watch(streams);
  expect(seen).toEqual(["connected", "state 1", "events 2", "reconnecting", "connected", "events 3", "events 4"]);
  expect(requests.map((request) => request.afterRevision)).toEqual([undefined, 2n, 2n]);
});

test.each([
  ["a stream that ends too early", [events(2n)]],
  ["a replica that stops", [refusal(Code.Canceled, "")]],
  ["a limit that passes", [refusal(Code.ResourceExhausted, "LIMIT_REACHED", { retryMs: 1 })]],
  ["a store that is unavailable", [refusal(Code.Unavailable, "STORE_UNAVAILABLE")]],
])("a watch survives %s", async (_, end) => {
  const { seen } = await watch([
    [state(1n), ...end],
    [events(2n), events(3n, true)],
  ]);
  expect(seen.filter((name) => name.startsWith("events"))).toEqual(["events 2", "events 3"]);
});

test("a stream that the replica wants opened again does not look like an outage", async () => {
  const { seen } = await watch([[state(1n), reconnect], [events(2n), reconnect], [events(3n, true)]]);
  expect(seen).toEqual(["connected", "state 1", "events 2", "events 3"]);
});

test("a silent stream counts as broken", async () => {
  const streams: Script[] = [[state(1n), "silence"], [events(2n, true)]];
  const { seen } = await watch(streams, {}, { heartbeatTimeoutMs: 1000 });
  expect(seen).toEqual(["connected", "state 1", "reconnecting", "connected", "events 2"]);
});

test("a watch names silence as the reason why it connects again", async () => {
  const client = fakeClient(
    {
      watchTable: async function* (_, context) {
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      },
    },
    { heartbeatTimeoutMs: 50 },
  );
  const watched = client.watch("t");
  const { value: update } = await watched[Symbol.asyncIterator]().next();
  expect(update).toMatchObject({ state: "reconnecting", error: { description: "no message came for 50 ms" } });
  watched.close();
});

test("after missed changes that are no longer stored the state follows, even an older one", async () => {
  const { seen } = await watch([
    [state(5n), BROKEN],
    [historyGone, state(3n), events(4n, true)],
  ]);
  expect(seen.slice(-3)).toEqual(["historyGone", "state 3", "events 4"]);
});

test("views, turns, messages and presence come once, also from a stream that repeats them", async () => {
  const streams = [
    [state(1n), events(2n), view(2n), turn(2n), chat(1n), presence(0, 1), BROKEN],
    [view(2n), turn(2n), chat(1n), presence(0, 1), chat(3n), presence(0), events(3n, true), view(3n)],
  ];
  const options = { views: true, chat: true, presence: true, afterMessage: 0n };
  const { seen, requests } = await watch(streams, options);
  const once = ["state 1", "events 2", "view 2", "turn 2", "chat 1", "presence 0,1"];
  const later = ["chat 3", "presence 0", "events 3", "view 3"];
  expect(seen).toEqual(["connected", ...once, "reconnecting", "connected", ...later]);
  expect(requests[1]).toMatchObject({ views: true, chat: true, presence: true, afterRevision: 2n, afterMessage: 1n });
});

test("a watch with views ends without the last view if the stream ends in order", async () => {
  const { seen } = await watch([[state(1n), events(2n, true)]], { views: true });
  expect(seen).toEqual(["connected", "state 1", "events 2"]);
});

test("a watch of a finished table ends at once", async () => {
  expect((await watch([[state(4n, true), "silence"]])).seen).toEqual(["connected", "state 4"]);
  const resumed = await watch([], { afterRevision: 9n });
  expect(resumed).toEqual({ seen: [], requests: [] });
});

test.each([
  ["an unknown table", refusal(Code.NotFound, "TABLE_UNKNOWN")],
  ["an expired token", refusal(Code.Unauthenticated, "TOKEN_EXPIRED")],
  ["an error of the service", refusal(Code.Internal, "INTERNAL")],
  ["a limit without an end", refusal(Code.ResourceExhausted, "LIMIT_REACHED")],
])("%s ends a watch with its error", async (_, error) => {
  await expect(watch([[state(1n), error]])).rejects.toBeInstanceOf(BuracoError);
});

test("an outage that is too long ends a watch with its error", async () => {
  const outage = Array<Script>(1000).fill([BROKEN]);
  await expect(watch(outage, {}, { reconnectTimeoutMs: 20 })).rejects.toMatchObject({ code: Code.Unavailable });
});

test("leaving the loop, closing and aborting end the stream", async () => {
  const ended = vi.fn();
  const client = fakeClient({
    watchTable: async function* (_, context) {
      context.signal.addEventListener("abort", ended);
      yield state(1n);
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
    },
  });
  for await (const update of client.watch("t")) if (update.kind === "state") break;
  expect(ended).toHaveBeenCalledTimes(1);

  const watched = client.watch("t");
  for await (const update of watched) if (update.kind === "state") setTimeout(() => watched.close());
  expect(ended).toHaveBeenCalledTimes(2);
  expect(watched.revision).toBe(1n);

  const abort = new AbortController();
  for await (const update of client.watch("t", { signal: abort.signal })) {
    if (update.kind === "state") setTimeout(() => abort.abort());
  }
  expect(ended).toHaveBeenCalledTimes(3);
  expect(await Array.fromAsync(client.watch("t", { signal: abort.signal }))).toEqual([]);
});

test("a watch that is closed while it waits to reconnect ends without an error", async () => {
  const client = fakeClient(
    {
      watchTable: () => {
        throw BROKEN;
      },
    },
    { backoff: { firstMs: 60_000, capMs: 60_000 } },
  );
  const watched = client.watch("t");
  const seen: string[] = [];
  for await (const update of watched) {
    seen.push(short(update));
    setTimeout(() => watched.close());
  }
  expect(seen).toEqual(["reconnecting"]);
});

test("a watch can be iterated once", async () => {
  const watched = fakeClient({}).watch("t");
  watched.close();
  expect(await Array.fromAsync(watched)).toEqual([]);
  expect(() => watched[Symbol.asyncIterator]()).toThrow(TypeError);
});

test("a stream whose token was renewed meanwhile is opened with the fresh one", async () => {
  const tokens: (string | null)[] = [];
  const client = fakeClient({
    joinTable: () => ({ seat: 0, token: "old", table: { id: "t" } }),
    renewToken: () => ({ token: "fresh" }),
    watchTable: async function* (_, context) {
      tokens.push(context.requestHeader.get("authorization"));
      yield tokens.length === 1 ? state(1n) : events(2n, true);
      if (tokens.length === 1) {
        await session.renewToken();
        throw refusal(Code.Unauthenticated, "TOKEN_EXPIRED");
      }
    },
  });
  const session = await client.joinTable("t");
  const seen = (await Array.fromAsync(session.watch())).map(short);
  expect(seen).toEqual(["connected", "state 1", "events 2"]);
  expect(tokens).toEqual(["Bearer old", "Bearer fresh"]);
});

test.each([
  ["a token is refused that was not replaced", false, refusal(Code.Unauthenticated, "TOKEN_EXPIRED")],
  [
    "the seat is given back, whether its token was replaced or not",
    true,
    refusal(Code.PermissionDenied, "SEAT_NOT_YOURS"),
  ],
])("a seat's watch ends with the error when %s", async (_, isReplaced, error) => {
  const watchTable = vi.fn(async function* (): AsyncGenerator<Message> {
    yield state(1n);
    if (watchTable.mock.calls.length > 1) return yield events(2n, true);
    if (isReplaced) await session.renewToken();
    throw error;
  });
  const client = fakeClient({
    joinTable: () => ({ seat: 0, token: "old", table: { id: "t" } }),
    renewToken: () => ({ token: "fresh" }),
    watchTable,
  });
  const session = await client.joinTable("t");
  await expect(Array.fromAsync(session.watch())).rejects.toMatchObject({ code: error.code });
  expect(watchTable).toHaveBeenCalledTimes(1);
});
