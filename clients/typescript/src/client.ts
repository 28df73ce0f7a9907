import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { createClient, type Transport } from "@connectrpc/connect";
import { type Backoff, DEFAULT_BACKOFF } from "./backoff.js";
import type { Connection } from "./connection.js";
import {
  type Account,
  type AccountEntry,
  AccountService,
  type GetAccountResponse,
} from "./generated/buraco/v1/account_service_pb.js";
import type { RuleSet, RuleSetSchema } from "./generated/buraco/v1/rule_set_pb.js";
import { RulesService } from "./generated/buraco/v1/rules_service_pb.js";
import type { DealRecord, Table, TableAccess, TableOptionsSchema, TableState } from "./generated/buraco/v1/table_pb.js";
import {
  type ChatMessage,
  TableService,
  type TableServiceGetViewResponse,
} from "./generated/buraco/v1/table_service_pb.js";
import { iterateChat, iterateDeals } from "./pages.js";
import { SeatSession, seatOf, tableOf } from "./seat-session.js";
import { SeatToken } from "./seat-token.js";
import { bearer, Caller, type CallOptions, type ChangeOptions, newRequestId } from "./unary.js";
import { Watch, type WatchOptions } from "./watch.js";

/** How a client calls the service. */
export interface ClientOptions {
  /** Who the player is: a token of the host's backend, or of `signInAsGuest`. */
  readonly playerToken?: string;
  /** The secret that the service may require for creating tables. Not for pages: their users can read it. */
  readonly apiKey?: string;
  /** Milliseconds for a call, all its attempts together; default: 5 seconds. */
  readonly timeoutMs?: number;
  /** Milliseconds of silence after which a watch counts as broken, more than the service's heartbeat; default: 30 s. */
  readonly heartbeatTimeoutMs?: number;
  /** Milliseconds for which a broken watch connects again before its error is thrown; default: for ever. */
  readonly reconnectTimeoutMs?: number;
  /** Waits between attempts. */
  readonly backoff?: Backoff;
}

/** The rules and terms of a table. */
export interface TableSettings {
  /** A preset's id, or rules of one's own. */
  readonly rules: string | MessageInitShape<typeof RuleSetSchema>;
  /** 2 or 4. */
  readonly seats: number;
  /** 0 plays one deal; default: the usual one of the rules. */
  readonly targetScore?: number;
  /** Credits that each player stakes; default: none. */
  readonly stake?: bigint;
  /** A clock, access, bots and more. */
  readonly options?: MessageInitShape<typeof TableOptionsSchema>;
}

/** A new table, and the code that its players need if it is for those who are invited. */
export interface CreatedTable {
  readonly table: Table;
  /** Empty unless the access is INVITATION; shown here alone, and to be kept. */
  readonly invitationCode: string;
}

/** How a seat is taken. */
export interface JoinOptions extends ChangeOptions {
  /** 1 to 64 characters; empty: the name in the player token. */
  readonly playerName?: string;
  /** Default: the first free one. */
  readonly seat?: number;
  /** Up to 64 bytes of the player's own randomness, mixed into every shuffle; see `verifyDeal`. */
  readonly entropy?: Uint8Array;
  /** For a table with access INVITATION. */
  readonly invitationCode?: string;
  /** Of a bot that takes a seat kept for this level, or plays for an absent player. */
  readonly botLevel?: string;
}

/** What `quickJoin` takes. */
export type QuickJoinOptions = Pick<JoinOptions, "playerName" | "entropy"> & ChangeOptions;

/** Which tables are listed; all that is given has to fit. */
export interface ListTablesOptions extends CallOptions {
  readonly state?: TableState;
  readonly ruleSetId?: string;
  /** At least so many seats that a player could take. */
  readonly freeSeats?: number;
  readonly access?: TableAccess;
  readonly minStake?: bigint;
  readonly maxStake?: bigint;
  /** Only where the client's player has a seat. */
  readonly mine?: boolean;
  readonly updatedAfter?: Date;
  readonly botLevel?: string;
  /** Tables a call, 1 to 200; default: 50. */
  readonly pageSize?: number;
}

/** A new guest. */
export interface GuestSignIn {
  /** Whoever has it is the guest: keep it, and keep it secret. */
  readonly playerToken: string;
  readonly playerId: string;
  readonly expiresAt: Date | undefined;
}

/**
 * Return a client that calls the service by a transport: `createConnectTransport` of `@connectrpc/connect-web` in
 * browsers, `createGrpcTransport` of `@connectrpc/connect-node` in Node.
 *
 * @example
 * const transport = createConnectTransport({ baseUrl: "https://buraco.example" });
 * const client = createBuracoClient(transport, { playerToken });
 * const session = await client.joinTable(tableId);
 */
export function createBuracoClient(transport: Transport, options: ClientOptions = {}): BuracoClient {
  return new BuracoClient(transport, options);
}

/**
 * One transport to the service, for any number of tables; made by `createBuracoClient`.
 *
 * Calls throw a BuracoError. They have a deadline, within which they are repeated while the service is unavailable.
 */
export class BuracoClient {
  /** Who the player is; may be set later, for calls from then on. */
  playerToken: string | undefined;
  readonly #connection: Connection;

  /** @internal */
  constructor(transport: Transport, options: ClientOptions) {
    const backoff = options.backoff ?? DEFAULT_BACKOFF;
    const headers: Record<string, string> = options.apiKey === undefined ? {} : { "x-api-key": options.apiKey };
    this.playerToken = options.playerToken;
    this.#connection = {
      accounts: createClient(AccountService, transport),
      rules: createClient(RulesService, transport),
      tables: createClient(TableService, transport),
      caller: new Caller(options.timeoutMs ?? 5_000, backoff, headers),
      headers,
      streams: {
        heartbeatTimeoutMs: options.heartbeatTimeoutMs ?? 30_000,
        reconnectTimeoutMs: options.reconnectTimeoutMs ?? Number.POSITIVE_INFINITY,
        backoff,
      },
    };
  }

  /** Return the preset rule sets; the id of each of them, or a changed copy, may be given as `rules`. */
  async listRuleSets(options: CallOptions = {}): Promise<RuleSet[]> {
    const { rules, caller } = this.#connection;
    return (await caller.call((attempt) => rules.listRuleSets({}, attempt), options)).ruleSets;
  }

  /**
   * Create a table for 2 or 4 players, which waits for them.
   *
   * `seed`: 32 bytes that make the match reproducible and its cards known to the creator, which the table shows.
   *
   * @example
   * const { table } = await client.createTable({ rules: "burraco", seats: 2, targetScore: 0 });
   */
  async createTable(
    settings: TableSettings & { readonly seed?: Uint8Array },
    options: ChangeOptions = {},
  ): Promise<CreatedTable> {
    const { tables, caller } = this.#connection;
    const requestId = options.requestId ?? newRequestId();
    const request = { ...tableSettings(settings), seed: settings.seed, requestId };
    const answer = await caller.call((attempt) => tables.createTable(request, attempt), {
      ...options,
      requestId,
      headers: bearer(this.playerToken),
    });
    return { table: tableOf(answer), invitationCode: answer.invitationCode };
  }

  /** Return what everybody may know of a table. */
  async getTable(tableId: string, options: CallOptions = {}): Promise<Table> {
    const { tables, caller } = this.#connection;
    return tableOf(await caller.call((attempt) => tables.getTable({ tableId }, attempt), options));
  }

  /**
   * Yield the tables that fit, ordered by id, page by page.
   *
   * @example
   * for await (const table of client.listTables({ state: TableState.WAITING })) show(table);
   */
  async *listTables(options: ListTablesOptions = {}): AsyncGenerator<Table, void, undefined> {
    const { tables, caller } = this.#connection;
    const { timeoutMs, signal, updatedAfter, ...filter } = options;
    const headers = options.mine ? bearer(this.playerToken) : {};
    const request = { ...filter, updatedAfter: updatedAfter && timestampFromMs(updatedAfter.getTime()) };
    let pageToken = "";
    do {
      const page = await caller.call((attempt) => tables.listTables({ ...request, pageToken }, attempt), {
        timeoutMs,
        signal,
        headers,
      });
      yield* page.tables;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /**
   * Take a seat; the match starts when the last one is taken. A player with a player token who has a seat of the table
   * gets it back with a fresh token, on any device.
   *
   * @example
   * const session = await client.joinTable(tableId, { playerName: "Ada" });
   */
  async joinTable(tableId: string, options: JoinOptions = {}): Promise<SeatSession> {
    const { tables, caller } = this.#connection;
    const { playerName, seat, entropy, invitationCode, botLevel, ...call } = options;
    const requestId = call.requestId ?? newRequestId();
    const request = { tableId, requestId, playerName, seat, entropy, invitationCode, botLevel };
    const headers = bearer(this.playerToken);
    const answer = await caller.call((attempt) => tables.joinTable(request, attempt), { ...call, requestId, headers });
    return seatOf(this.#connection, answer);
  }

  /** Take a seat at any public table that waits for players and is as asked for; if there is none, at a new one. */
  async quickJoin(settings: TableSettings, options: QuickJoinOptions = {}): Promise<SeatSession> {
    const { tables, caller } = this.#connection;
    const { playerName, entropy, ...call } = options;
    const requestId = call.requestId ?? newRequestId();
    const request = { ...tableSettings(settings), requestId, playerName, entropy };
    const headers = bearer(this.playerToken);
    const answer = await caller.call((attempt) => tables.quickJoin(request, attempt), { ...call, requestId, headers });
    return seatOf(this.#connection, answer);
  }

  /** Free a seat of a table that waits for players, as its creator. */
  async removePlayer(tableId: string, seat: number, options: ChangeOptions = {}): Promise<Table> {
    const { tables, caller } = this.#connection;
    const requestId = options.requestId ?? newRequestId();
    const headers = bearer(this.playerToken);
    return tableOf(
      await caller.call((attempt) => tables.removePlayer({ tableId, seat, requestId }, attempt), {
        ...options,
        requestId,
        headers,
      }),
    );
  }

  /**
   * Return a seat from the text that `SeatSession.save` gave. Nothing is checked before its first call. Throw TypeError
   * if the text is not of a seat.
   */
  restoreSeat(saved: string): SeatSession {
    const { tableId, seat, token, tokenExpiresAt } = parseSaved(saved);
    const seatToken = new SeatToken(this.#connection, tableId, token, tokenExpiresAt);
    return new SeatSession(this.#connection, tableId, seat, seatToken);
  }

  /**
   * Return a player token for a new guest; set it as `playerToken`, so that calls carry it.
   *
   * @example
   * client.playerToken = (await client.signInAsGuest("Ada")).playerToken;
   */
  async signInAsGuest(name: string, options: CallOptions = {}): Promise<GuestSignIn> {
    const { tables, caller } = this.#connection;
    const answer = await caller.call((attempt) => tables.signInAsGuest({ name }, attempt), options);
    return { playerToken: answer.playerToken, playerId: answer.playerId, expiresAt: dateOf(answer.expiresAt) };
  }

  /** Return the public view and its revision; there is no view until the match starts. */
  getView(tableId: string, options: CallOptions = {}): Promise<TableServiceGetViewResponse> {
    const { tables, caller } = this.#connection;
    return caller.call((attempt) => tables.getView({ tableId }, attempt), options);
  }

  /** Return what happens at a table as everybody may see it; see `Watch`. */
  watch(tableId: string, options: Omit<WatchOptions, "legalMoves"> = {}): Watch {
    return new Watch(this.#connection, tableId, undefined, options);
  }

  /**
   * Yield the kept messages to the table after a number (default: from the first that is kept), as everybody may read
   * them. A table that spectators may not see refuses it with SPECTATORS_NOT_ALLOWED: `SeatSession.listChat` is for its players.
   *
   * @example
   * for await (const message of client.listChat(tableId)) show(message);
   */
  listChat(
    tableId: string,
    { afterMessage = 0n, ...options }: CallOptions & { readonly afterMessage?: bigint } = {},
  ): AsyncGenerator<ChatMessage, void, undefined> {
    const { tables, caller } = this.#connection;
    return iterateChat(afterMessage, (after) =>
      caller.call((attempt) => tables.listChat({ tableId, afterMessage: after }, attempt), options),
    );
  }

  /**
   * Yield the finished deals after a deal number (default: all), in order; `verifyDeal` checks them. A table that
   * spectators may not see refuses it with SPECTATORS_NOT_ALLOWED: `SeatSession.getRecord` is for its players.
   */
  getRecord(
    tableId: string,
    { afterDeal = 0, ...options }: CallOptions & { readonly afterDeal?: number } = {},
  ): AsyncGenerator<DealRecord, void, undefined> {
    const { tables, caller } = this.#connection;
    return iterateDeals(afterDeal, (after) =>
      caller.call((attempt) => tables.getRecord({ tableId, afterDeal: after }, attempt), options),
    );
  }

  /** Return the deal that the end of the match cut off, with its seed and moves; undefined if there is none. */
  async getCutOffDeal(tableId: string, options: CallOptions = {}): Promise<DealRecord | undefined> {
    const { tables, caller } = this.#connection;
    const dealNumber = (await this.getTable(tableId, options)).match?.dealNumber ?? 0;
    const request = { tableId, afterDeal: Math.max(dealNumber, 1) - 1 };
    return (await caller.call((attempt) => tables.getRecord(request, attempt), options)).cutOff;
  }

  /** Return the player's account of play money; with an API key that of `playerId`. */
  async getAccount({ playerId = "", ...options }: CallOptions & { readonly playerId?: string } = {}): Promise<Account> {
    const { accounts, caller } = this.#connection;
    const headers = bearer(this.playerToken);
    const answer: GetAccountResponse = await caller.call((attempt) => accounts.getAccount({ playerId }, attempt), {
      ...options,
      headers,
    });
    if (answer.account === undefined) throw new TypeError("the answer has no account");
    return answer.account;
  }

  /** Yield the entries of the player's account, the newest first; with an API key those of `playerId`. */
  async *listEntries({
    playerId = "",
    pageSize = 0,
    ...options
  }: CallOptions & { readonly playerId?: string; readonly pageSize?: number } = {}): AsyncGenerator<
    AccountEntry,
    void,
    undefined
  > {
    const { accounts, caller } = this.#connection;
    let pageToken = "";
    do {
      const request = { playerId, pageSize, pageToken };
      const headers = bearer(this.playerToken);
      const page = await caller.call((attempt) => accounts.listEntries(request, attempt), { ...options, headers });
      yield* page.entries;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }
}

function tableSettings({ rules, seats, targetScore, stake, options }: TableSettings) {
  return {
    rules:
      typeof rules === "string"
        ? ({ case: "ruleSetId", value: rules } as const)
        : ({ case: "ruleSet", value: rules } as const),
    seats,
    targetScore,
    stake,
    options,
  };
}

function dateOf(timestamp: Timestamp | undefined): Date | undefined {
  return timestamp && new Date(timestampMs(timestamp));
}

function parseSaved(saved: string): { tableId: string; seat: number; token: string; tokenExpiresAt?: number } {
  let value: unknown;
  try {
    value = JSON.parse(saved);
  } catch {
    value = undefined;
  }
  const { tableId, seat, token, tokenExpiresAt } = (value ?? {}) as Record<string, unknown>;
  const isSeat = typeof tableId === "string" && typeof token === "string" && Number.isInteger(seat);
  if (!isSeat || !(tokenExpiresAt === undefined || typeof tokenExpiresAt === "number")) {
    throw new TypeError("the text is not of a saved seat");
  }
  return { tableId, seat: seat as number, token, tokenExpiresAt };
}
