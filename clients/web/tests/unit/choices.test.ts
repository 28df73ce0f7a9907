import { discard, drawStock, layMeld, layOff, moveWild } from "@buraco/client";
import { AbsencePolicy, ChatMode, SpectatorPolicy, TableAccess } from "@buraco/client/messages";
import { expect, test } from "vitest";
import { hints, targetsOf, wildMoves } from "../../src/game/choices";
import { DEFAULT_LEVEL, describeLevel, LEVELS, optionsOf } from "../../src/game/options";
import { PageTexts } from "../../src/game/texts";
import { routeOf, tableLink } from "../../src/ui/route";

const legal = [
  drawStock(),
  layMeld([5, 6, 53], 4),
  layMeld([5, 6, 53], 7),
  layMeld([5, 6, 7]),
  layOff(1, [7]),
  layOff(3, [7]),
  moveWild(0, 9),
  discard(7),
];

test("picked cards can go wherever a legal move plays exactly them", () => {
  const targets = targetsOf([7], legal);
  expect([...targets.layOff.keys()]).toEqual([1, 3]);
  expect(targets.discard).toBe(legal.at(-1));
  expect(targets.lay).toEqual([]);
  expect(targetsOf([53, 6, 5], legal).lay).toHaveLength(2);
  expect(targetsOf([], legal)).toEqual({ lay: [], layOff: new Map(), discard: undefined });
});

test("wilds that can be moved are found by their meld", () => {
  expect([...wildMoves(legal).keys()]).toEqual([0]);
});

test("hints name each choice of cards once, those without a wild first", () => {
  const found = hints(legal);
  expect(found).toHaveLength(4);
  expect(found[0]).toBe(legal[3]);
  expect(found.at(-1)).toBe(legal[1]);
});

test("an address shows a table, with the code of an invitation", () => {
  expect(routeOf(tableLink("a/b", "X 1"))).toEqual({ table: "a/b", code: "X 1" });
  expect(routeOf("")).toEqual({ table: undefined, code: "" });
  expect(routeOf("#/other/x")).toEqual({ table: undefined, code: "" });
});

test("options that are at their default are left out", () => {
  const chosen = {
    seats: 4,
    access: TableAccess.PUBLIC,
    players: "",
    spectators: SpectatorPolicy.ALLOWED,
    delay: 0,
    turn: 0,
    reserve: 120,
    confirmation: 0,
    chat: ChatMode.ALL,
    bots: [],
    absence: AbsencePolicy.WAIT,
    absentAfter: 0,
    substitute: "greedy",
  };
  const empty = Object.values(optionsOf(chosen)).every(
    (value) => !value || (Array.isArray(value) && value.length === 0),
  );
  expect(empty).toBe(true);
  expect(optionsOf({ ...chosen, bots: ["greedy", "random", "greedy"] }).bots).toEqual([
    { seat: 1, level: "greedy" },
    { seat: 2, level: "greedy" },
    { seat: 3, level: "random" },
  ]);
  const withBot = { ...chosen, absence: AbsencePolicy.BOT, substitute: "random" };
  expect(optionsOf(withBot)).toMatchObject({ absence: 0, substituteLevel: "" });
  expect(optionsOf({ ...withBot, absentAfter: 30 })).toMatchObject({
    absence: AbsencePolicy.BOT,
    absentAfter: { seconds: 30n },
    substituteLevel: "random",
  });
});

test.each(["en", "it", "pt", "es"] as const)("every level of bots is described in %s", (language) => {
  const texts = new PageTexts(language);
  expect(LEVELS).toContain(DEFAULT_LEVEL);
  for (const level of LEVELS) expect(describeLevel(level, texts)).toMatch(new RegExp(`^${level}: .{10,36}$`));
});
