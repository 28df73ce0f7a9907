import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { BuracoError, drawStock, newRequestId, Texts } from "../src/index.ts";
import { ChatAudience, type CreateTableRequest, TableSchema, Violation } from "../src/messages.ts";
import { BROKEN, fakeClient, refusal } from "./support/fake-service.ts";

const TABLE = create(TableSchema, { id: "t" });
const JOINED = { seat: 1, token: "seat-token", table: TABLE };

/** Return what a call throws. */
async function failure(call: Promise<unknown>): Promise<BuracoError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(BuracoError);
  return thrown as BuracoError;
}

test("request ids are random UUIDs", () => {
  const ids = Array.from({ length: 100 }, newRequestId);
  expect(new Set(ids).size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test.each([
  ["the connection breaks", BROKEN],
  ["a replica stops", refusal(Code.Canceled, "")],
  ["the store is unavailable", refusal(Code.Unavailable, "STORE_UNAVAILABLE")],
  ["another change precedes it", refusal(Code.Aborted, "REVISION_STALE")],
  ["a limit passes", refusal(Code.ResourceExhausted, "LIMIT_REACHED", { retryMs: 5 })],
])("a change is repeated under its request id when %s", async (_, error) => {
  const requests: CreateTableRequest[] = [];
  const client = fakeClient({
    createTable: (request) => {
      requests.push(request);
      if (requests.length < 3) throw error;
      return { table: TABLE, invitationCode: "code" };
    },
  });
  const created = await client.createTable({ rules: "burraco", seats: 2, targetScore: 0 });
  expect(created).toMatchObject({ table: { id: "t" }, invitationCode: "code" });
  expect(requests).toHaveLength(3);
  expect(new Set(requests.map((request) => request.requestId)).size).toBe(1);
  expect(requests[0]).toMatchObject({ rules: { case: "ruleSetId", value: "burraco" }, seats: 2, targetScore: 0 });
});

test.each([
  ["is refused", refusal(Code.FailedPrecondition, "TABLE_FULL"), "TABLE_FULL"],
  ["reaches a limit without an end", refusal(Code.ResourceExhausted, "LIMIT_REACHED"), "LIMIT_REACHED"],
  ["meets an error of the service", refusal(Code.Internal, "INTERNAL"), "INTERNAL"],
])("a call that %s is not repeated", async (_, error, reason) => {
  const joinTable = vi.fn(() => {
    throw error;
  });
  const caught = await failure(fakeClient({ joinTable }).joinTable("t", { requestId: "mine" }));
  expect(caught).toMatchObject({ reason, requestId: "mine" });
  expect(joinTable).toHaveBeenCalledTimes(1);
});

test("moves for a revision are not repeated once the table is past it", async () => {
  const submitMoves = vi.fn(() => {
    throw refusal(Code.Aborted, "REVISION_STALE");
  });
  const session = await fakeClient({ joinTable: () => JOINED, submitMoves }).joinTable("t");
  expect(await failure(session.submit([drawStock()], { revision: 4n }))).toMatchObject({ reason: "REVISION_STALE" });
  expect(submitMoves).toHaveBeenCalledTimes(1);
});

test("a call fails when its time is over", async () => {
  const client = fakeClient({
    getTable: () => {
      throw BROKEN;
    },
  });
  const error = await failure(client.getTable("t", { timeoutMs: 30 }));
  expect(error.code === Code.Unavailable || error.code === Code.DeadlineExceeded).toBe(true);
});

test.each([
  ["the clock moves while it is made", 5_000, "5000"],
  ["it is part of one", 12.25, "13"],
  ["it has no end", Number.POSITIVE_INFINITY, "2147483647"],
])("a call names its time in whole milliseconds, also when %s", async (_, timeoutMs, named) => {
  let now = 1000.5;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    now += 0.1;
    return now;
  });
  const seen: (string | null)[] = [];
  const client = fakeClient({
    getTable: (_, context) => {
      seen.push(context.requestHeader.get("connect-timeout-ms"));
      return { table: TABLE };
    },
  });
  try {
    await client.getTable("t", { timeoutMs });
  } finally {
    clock.mockRestore();
  }
  expect(seen).toEqual([named]);
});

test("a caller can abort, and gets its own reason", async () => {
  const stop = new AbortController();
  const client = fakeClient({
    getTable: () => {
      stop.abort("enough");
      throw BROKEN;
    },
  });
  await expect(client.getTable("t", { signal: stop.signal })).rejects.toBe("enough");
});

test("an error has the details that the service sends", async () => {
  const client = fakeClient({
    joinTable: () => JOINED,
    submitMoves: () => {
      throw refusal(Code.FailedPrecondition, "NOT_DRAWN", {
        metadata: { seat: "1" },
        violations: ["VIOLATION_NOT_DRAWN", "VIOLATION_GAP", "VIOLATION_OF_TOMORROW"],
        fields: ["moves[0]"],
        retryMs: 1500,
      });
    },
  });
  const error = await failure((await client.joinTable("t")).submit([drawStock()], { timeoutMs: 500 }));
  expect(error).toMatchObject({
    code: Code.FailedPrecondition,
    reason: "NOT_DRAWN",
    metadata: { seat: "1" },
    violations: [Violation.NOT_DRAWN, Violation.GAP],
    fieldViolations: [{ field: "moves[0]", description: "is not a card" }],
    retryDelay: 1500,
    message: "FAILED_PRECONDITION NOT_DRAWN: refused",
  });
  expect(new Texts("en").reason(error)).toBe("Draw first, from the stock or from the pile.");
});

test("calls carry the tokens that they need and no others", async () => {
  const seen: Record<string, (string | null)[]> = {};
  const note = <Answer>(name: string, context: { requestHeader: Headers }, answer: Answer): Answer => {
    seen[name] = ["authorization", "x-api-key"].map((header) => context.requestHeader.get(header));
    return answer;
  };
  const client = fakeClient(
    {
      createTable: (_, context) => note("create", context, { table: TABLE }),
      getTable: (_, context) => note("get", context, { table: TABLE }),
      listTables: (request, context) => note(request.mine ? "mine" : "list", context, {}),
      joinTable: (_, context) => note("join", context, JOINED),
      quickJoin: (_, context) => note("quick", context, JOINED),
      getView: (_, context) => note("view", context, {}),
    },
    { playerToken: "player", apiKey: "key" },
    { getAccount: (_, context) => note("account", context, { account: { playerId: "p", balance: 5n } }) },
  );
  await client.createTable({ rules: "burraco", seats: 2 });
  await client.getTable("t");
  await Array.fromAsync(client.listTables());
  await Array.fromAsync(client.listTables({ mine: true }));
  await client.quickJoin({ rules: "burraco", seats: 2 });
  await (await client.joinTable("t")).view();
  expect(await client.getAccount()).toMatchObject({ balance: 5n });
  expect(seen).toEqual({
    create: ["Bearer player", "key"],
    get: [null, "key"],
    list: [null, "key"],
    mine: ["Bearer player", "key"],
    join: ["Bearer player", "key"],
    quick: ["Bearer player", "key"],
    view: ["Bearer seat-token", "key"],
    account: ["Bearer player", "key"],
  });
});

test("lists yield all pages", async () => {
  const pages = [["a", "b"], [], ["c"]];
  const client = fakeClient(
    {
      joinTable: () => JOINED,
      listTables: ({ pageToken }) => {
        const page = Number(pageToken || 0);
        const tables = (pages[page] ?? []).map((id) => ({ id }));
        return { tables, nextPageToken: page + 1 < pages.length ? String(page + 1) : "" };
      },
      getRecord: ({ afterDeal }) => ({ deals: [{ dealNumber: afterDeal + 1 }], more: afterDeal < 2 }),
      listChat: ({ afterMessage }) => ({ messages: [{ number: afterMessage + 2n }], more: afterMessage < 4n }),
    },
    {},
    { listEntries: ({ pageToken }) => ({ entries: [{ number: 7n }], nextPageToken: pageToken ? "" : "next" }) },
  );
  expect((await Array.fromAsync(client.listTables())).map((table) => table.id)).toEqual(["a", "b", "c"]);
  expect((await Array.fromAsync(client.getRecord("t"))).map((deal) => deal.dealNumber)).toEqual([1, 2, 3]);
  expect(await Array.fromAsync(client.listEntries())).toHaveLength(2);
  const session = await client.joinTable("t");
  expect((await Array.fromAsync(session.getRecord({ afterDeal: 1 }))).map((deal) => deal.dealNumber)).toEqual([2, 3]);
  for (const messages of [session.listChat(), client.listChat("t")]) {
    expect((await Array.fromAsync(messages)).map((message) => message.number)).toEqual([2n, 4n, 6n]);
  }
  expect(await Array.fromAsync(client.listChat("t", { afterMessage: 4n }))).toHaveLength(1);
});

test("a chat message is a text or a phrase, to the table or the partner", async () => {
  const sent: unknown[] = [];
  const client = fakeClient({
    joinTable: () => JOINED,
    sendChat: ({ content, audience }) => {
      sent.push([content, audience]);
      return { message: { number: 1n, content } };
    },
  });
  const session = await client.joinTable("t");
  expect((await session.sendChat({ text: "hello" })).content).toEqual({ case: "text", value: "hello" });
  await session.sendChat({ phrase: "THANKS" }, { audience: ChatAudience.PARTNER });
  expect(sent).toEqual([
    [{ case: "text", value: "hello" }, ChatAudience.UNSPECIFIED],
    [{ case: "phrase", value: "THANKS" }, ChatAudience.PARTNER],
  ]);
});

test("a seat is saved and restored as a text, and other texts are refused", async () => {
  const expiry = { tokenExpiresAt: { seconds: 4102444800n, nanos: 0 } };
  const client = fakeClient({ joinTable: () => ({ ...JOINED, ...expiry }) });
  const session = await client.joinTable("t");
  const restored = client.restoreSeat(session.save());
  expect(restored).toMatchObject({ tableId: "t", seat: 1, token: "seat-token", tokenExpiresAt: 4102444800000 });
  expect(restored.save()).toBe(session.save());
  for (const text of ["", "{}", "null", "[1]", '{"tableId":"t","seat":"1","token":"x"}']) {
    expect(() => client.restoreSeat(text)).toThrow(TypeError);
  }
});

test("a token is renewed once when half of its life is over, and the caller learns of it", async () => {
  const seconds = (date: number) => ({ seconds: BigInt(Math.ceil(date / 1000)), nanos: 0 });
  const renewToken = vi.fn(() => ({ token: "fresh", tokenExpiresAt: seconds(Date.now() + 60_000) }));
  const used: (string | null)[] = [];
  const client = fakeClient({
    joinTable: () => ({ ...JOINED, tokenExpiresAt: seconds(Date.now() - 1000) }),
    renewToken,
    getView: (_, context) => {
      used.push(context.requestHeader.get("authorization"));
      return {};
    },
  });
  const session = await client.joinTable("t");
  const renewed = vi.fn();
  session.onTokenRenewed = renewed;
  await Promise.all([session.view(), session.view(), session.view()]);
  await session.view();
  expect(renewToken).toHaveBeenCalledTimes(1);
  expect(renewed).toHaveBeenCalledTimes(1);
  expect(used.at(-1)).toBe("Bearer fresh");
  expect(JSON.parse(session.save())).toMatchObject({ token: "fresh" });
});

test("a call goes with the old token when it cannot be renewed", async () => {
  const client = fakeClient({
    joinTable: () => ({ ...JOINED, tokenExpiresAt: { seconds: 1n, nanos: 0 } }),
    renewToken: () => {
      throw refusal(Code.Unauthenticated, "TOKEN_EXPIRED");
    },
    getView: (_, context) => {
      expect(context.requestHeader.get("authorization")).toBe("Bearer seat-token");
      return { revision: 3n };
    },
  });
  expect((await (await client.joinTable("t")).view()).revision).toBe(3n);
});
