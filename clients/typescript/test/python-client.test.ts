import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create, type DescEnum, type DescFile, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  BuracoError,
  type HandOrder,
  languages,
  layMeld,
  layOff,
  movesFor,
  pickable,
  sortHand,
  Texts,
  wildPlace,
} from "../src/index.ts";
import * as messages from "../src/messages.ts";
import {
  Card,
  Ending,
  type Event,
  EventSchema,
  MatchEnd,
  type Meld,
  MeldKind,
  MeldSchema,
  type Move,
  MoveSchema,
} from "../src/messages.ts";
import { PYTHON, ROOT } from "./support/paths.ts";
import { Server } from "./support/server.ts";

/** Events whose text depends on more than their kind. */
const VARIANTS: readonly MessageInitShape<typeof EventSchema>["event"][] = [
  { case: "drew", value: { seat: 1, card: Card.JOKER, stockCount: 1 } },
  { case: "tookRest", value: { seat: 1, count: 2, cards: [5, 6] } },
  { case: "tookRest", value: { seat: 1, count: 1 } },
  { case: "melded", value: { meld: { kind: MeldKind.SET, cards: [5, 18, 31] } } },
  { case: "potTaken", value: { seat: 1, inFlight: true, count: 11 } },
  { case: "dealEnded", value: { seat: 1, ending: Ending.CLOSED } },
  { case: "dealEnded", value: { ending: Ending.STOCK } },
  { case: "matchEnded", value: { winner: 1, scores: [5, 2005] } },
  { case: "matchEnded", value: { how: MatchEnd.ABORTED, scores: [0, 0] } },
  { case: "seatChanged", value: { seat: 1, playerName: "Zoë" } },
  { case: "turnTimedOut", value: { seat: 1, absent: true } },
  { case: "resigned", value: { seat: 1, pending: true } },
];

interface Pick {
  readonly picked: readonly Card[];
  readonly moves: readonly Move[];
  readonly melds: readonly Meld[];
}
interface PythonTexts {
  readonly language: string;
  readonly events: string[];
  readonly moves: string[];
  readonly reasons: string[];
  readonly codes: string[];
  readonly phrases: [string, string][];
  readonly cards: string;
  readonly values: Record<string, string>;
}
interface Results {
  readonly hands: Card[][][];
  readonly picks: { moves: number[]; pickable: Card[]; places: (string | null)[] }[];
  readonly languages: Record<string, string>;
  readonly texts: PythonTexts[];
}

const ORDERS: readonly HandOrder[] = ["suit", "rank", "melds"];
const TAGS = ["en", "it", "pt-BR", "es_AR", "xx"];
const NAMES = ["Ada", "Blaise"];
const ENGLISH = JSON.parse(readFileSync(join(ROOT, "clients", "texts", "en.json"), "utf8")) as Record<string, unknown>;
const REASONS = [...Object.keys(ENGLISH).filter((key) => /^(reason|violation)\./.test(key)), "x.UNHEARD_OF"].map(
  (key) => key.replace(/^\w+\./, ""),
);

/** Numbers from 0 to below - 1, the same in every run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const hands: Card[][] = [];
const picks: Pick[] = [];
const events: Event[] = [];
const moves: Move[] = [];
let results: Results;

beforeAll(async () => {
  const choose = seeded(7);
  for (let size = 0; size < 400; size++) {
    hands.push(Array.from({ length: size % 40 }, () => choose(53) + 1));
    // Two suits and a joker: long runs, with aces.
    hands.push(Array.from({ length: size % 40 }, () => [choose(26) + 1, Card.JOKER][Number(choose(20) === 0)] as Card));
  }
  for (let number = 0; number < 500; number++) picks.push(randomRun(choose));
  await playRandomly(choose);
  const cases = {
    hands,
    picks: picks.map((pick) => ({
      picked: pick.picked,
      moves: pick.moves.map((move) => toJson(MoveSchema, move)),
      melds: pick.melds.map((meld) => toJson(MeldSchema, meld)),
    })),
    events: events.map((event) => toJson(EventSchema, event)),
    moves: moves.map((move) => toJson(MoveSchema, move)),
    reasons: REASONS,
    languages: TAGS,
  };
  const program = join(import.meta.dirname, "support", "python_client.py");
  const { stdout, stderr, status } = spawnSync(PYTHON, [program], {
    cwd: ROOT,
    input: JSON.stringify(cases),
    encoding: "utf8",
    maxBuffer: 1e9,
  });
  if (status !== 0) throw new Error(stderr);
  results = JSON.parse(stdout);
});

let server: Server | undefined;
afterAll(() => server?.close());

/** Play a match by random moves and keep what a player sees and may do; add an event of every kind. */
async function playRandomly(choose: (below: number) => number): Promise<void> {
  server = await Server.start();
  const client = server.client();
  const seed = new Uint8Array(32).fill(1);
  const { table } = await client.createTable({ rules: "burraco", seats: 2, targetScore: 0, seed });
  const sessions = [
    await client.joinTable(table.id, { playerName: "Ada" }),
    await client.joinTable(table.id, { playerName: "Blaise" }),
  ];
  await Promise.all(
    sessions.map(async (session) => {
      for await (const update of session.watch({ legalMoves: true })) {
        if (update.kind === "events") events.push(...update.events);
        if (update.kind !== "turn") continue;
        const melds = update.view?.sides[session.seat % 2]?.melds ?? [];
        const plays = update.moves.filter((move) => move.move.case !== "moveWild");
        const move = (plays.length > 0 ? plays : update.moves)[choose(plays.length || update.moves.length)];
        if (!move) throw new Error("there is nothing to play");
        const hand = [...(update.view?.hand ?? [])];
        const picked = Array.from({ length: choose(3) }, () => hand.splice(choose(hand.length), 1)[0] as Card);
        if (picks.length < 650) {
          picks.push({ picked: picked.filter(Boolean), moves: update.moves, melds });
          for (const one of update.moves.slice(0, 5)) picks.push({ picked: cardsOf(one), moves: update.moves, melds });
        }
        moves.push(move);
        await session.submit([move]);
      }
    }),
  );
  moves.push(create(MoveSchema));
  for (const field of EventSchema.fields) {
    events.push(create(EventSchema, { event: { case: field.localName, value: {} } } as never));
  }
  events.push(create(EventSchema), ...VARIANTS.map((event) => create(EventSchema, { event })));
}

/** Return a run of spades with a wild as a new meld, or as a lay-off on a part of it. */
function randomRun(choose: (below: number) => number): Pick {
  const low = 1 + choose(12);
  const size = 3 + choose(15 - low - 2);
  const wild = choose(size);
  const card = choose(2) === 0 ? Card.JOKER : Card.TWO_OF_SPADES;
  const cards = Array.from(
    { length: size },
    (_, index) => (index === wild ? card : ((low + index - 1) % 13) + 1) as Card,
  );
  const wildPosition = low + wild;
  if (size < 4 || choose(2) === 0) return { picked: cards, moves: [layMeld(cards, wildPosition)], melds: [] };
  const begin = choose(size - 3);
  const base = cards.slice(begin, begin + 3);
  const hasWild = wild >= begin && wild < begin + 3;
  const melds = [
    create(MeldSchema, {
      kind: MeldKind.RUN,
      cards: base,
      lowPosition: low + begin,
      wildIndex: hasWild ? wild - begin : undefined,
    }),
  ];
  const laid = [...cards.slice(0, begin), ...cards.slice(begin + 3)];
  return { picked: laid, moves: [layOff(0, laid, wildPosition)], melds };
}

function cardsOf({ move }: Move): readonly Card[] {
  if (move.case === "discard") return [move.value.card];
  return move.case === "layMeld" || move.case === "layOff" ? move.value.cards : [];
}

test("hands are in the same order", () => {
  const sorted = hands.map((hand) =>
    ORDERS.flatMap((order) => [true, false].map((sets) => sortHand(hand, order, { sets }))),
  );
  expect(sorted).toEqual(results.hands);
});

test("picked cards make the same moves, with wilds at the same places", () => {
  const found = picks.map(({ picked, moves: legal, melds }) => {
    const made = movesFor(picked, legal);
    return {
      moves: legal.flatMap((move, index) => (made.includes(move) ? [index] : [])),
      pickable: [...pickable(picked, legal)].sort((one, other) => one - other),
      places: legal.map((move) => wildPlace(move, melds) ?? null),
    };
  });
  expect(found).toEqual(results.picks);
  const places = new Set(found.flatMap((one) => one.places));
  expect(picks.length).toBeGreaterThan(600);
  expect(places).toEqual(new Set([null, "LEFT", "MIDDLE", "RIGHT"]));
});

test("there are the same languages", () => {
  expect(languages()).toEqual(results.languages);
});

test.each(TAGS.map((tag, index) => [tag, index] as const))("the texts of %s are the same", (tag, index) => {
  const texts = new Texts(tag);
  const codes = Object.values(Code).filter((code): code is Code => typeof code === "number");
  const found: PythonTexts = {
    language: texts.language,
    events: events.flatMap((event) => [texts.event(event, NAMES), texts.event(event)]),
    moves: moves.map((move) => texts.move(move)),
    reasons: REASONS.map((reason) => texts.reason(new BuracoError(Code.Unavailable, "", { reason }))),
    codes: codes.sort((one, other) => one - other).map((code) => texts.reason(new BuracoError(code, ""))),
    phrases: Object.entries(texts.phrases),
    cards: texts.cards(Array.from({ length: 53 }, (_, place) => place + 1)),
    values: Object.fromEntries(
      enums().flatMap((schema) =>
        schema.values.map(({ number }) => [`${schema.name}.${number}`, texts.value(schema, number)]),
      ),
    ),
  };
  expect(found).toEqual(results.texts[index]);
});

/** Return the enums of the files that Python was asked for. */
function enums(): DescEnum[] {
  const names = ["accountService", "deal", "event", "move", "table", "tableService", "view"];
  const files = Object.entries(messages).flatMap(([name, value]) => {
    const file = name.replace(/^file_buraco_v1_/, "").replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    return name.startsWith("file_") && names.includes(file) ? [value as DescFile] : [];
  });
  expect(files).toHaveLength(names.length);
  return files.flatMap((file) => file.enums);
}
