/** Matches with bots in which something has to happen first, or takes its time. */

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { DEFAULT_LEVEL } from "../../src/game/options";
import { createTable, openPage, playToEnd, step, takeSeat, waitForMatch } from "./browser";
import { browser, server, useStage } from "./stage";

const QUIET = { Target: 0, "Time for a turn": 0, "Time to confirm a score": 0 };
const MOST_DEALS = 8;

useStage({ bots: `greedy,random,${DEFAULT_LEVEL}` });

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

test("seats are kept for bots, each of its level, and taken by them", async () => {
  const ada = await openPage(browser, server.address, { name: "Ada" });
  const id = await createTable(ada, { Bots: 3, "Bot 1": "greedy", "Bot 2": "random", "Bot 3": "random", ...QUIET });
  await waitForMatch(ada);
  const { table } = (await server.call("GetTable", { tableId: id })) as {
    table: { seats: { playerName: string; botLevel?: string }[] };
  };
  // From the last seat on: the partner's is the last that a bot gets.
  expect(table.seats.map((seat) => seat.botLevel ?? "")).toEqual(["", "greedy", "random", "random"]);
  expect(await ada.locator(".around .dot.bot").count()).toBe(3);
});

test("a bot plays for a player who is away, is marked at the seat, and gives it back", async () => {
  const ada = await openPage(browser, server.address, { name: "Ada" });
  const blaise = await openPage(browser, server.address, { name: "Blaise" });
  const { table } = (await server.call("CreateTable", {
    ruleSetId: "burraco",
    seats: 2,
    requestId: crypto.randomUUID(),
    options: { absentAfter: "10s", absence: "ABSENCE_POLICY_BOT", substituteLevel: "greedy" },
  })) as { table: { id: string } };
  await takeSeat(ada, table.id, 0);
  await takeSeat(blaise, table.id, 1);
  await waitForMatch(ada);
  await waitForMatch(blaise);
  await blaise.goto("about:blank");
  const plate = ada.locator('.around .plate:has-text("Blaise")');
  await plate.locator(".dot.bot").waitFor({ timeout: 60_000 });
  expect(await plate.locator("small").textContent()).toBe("absent, a bot plays");
  // The bot moves as soon as it is to.
  while (!(await ada.locator('.log li:has-text("Blaise discarded")').count())) {
    if (!(await step(ada))) await ada.waitForTimeout(60);
  }
  await blaise.goto(`${server.address}#/table/${table.id}`);
  await waitForMatch(blaise);
  await plate.locator(".dot.here").waitFor();
  expect(await plate.locator("small").count()).toBe(0);
});

/** Play deals until the page asks where a wild goes. */
async function playUntilAsked(page: Page): Promise<void> {
  for (let deal = 1; deal <= MOST_DEALS; deal++) {
    await createTable(page, { Players: 2, Bots: 1, ...QUIET });
    await waitForMatch(page);
    for (;;) {
      if (await page.locator("dialog.choice").count()) return;
      const done = await step(page, "last");
      if (done === "over") break;
      if (!done) await page.waitForTimeout(60);
    }
    await page.click('dialog.result a[href="#/"]');
  }
  throw new Error(`nothing was to be chosen in ${MOST_DEALS} deals`);
}

test("where a wild fits at both ends of a run, the page asks, and lays it at the one that is chosen", async () => {
  const ada = await openPage(browser, server.address, { name: "Ada" });
  await playUntilAsked(ada);
  const options = await ada.locator("dialog.choice .list button").allTextContents();
  expect(options.length).toBeGreaterThanOrEqual(2);
  expect(new Set(options).size).toBe(options.length);
  const before = await ada.locator(".melds.own .card.wild").count();
  await ada.locator('dialog.choice .list button:has-text("Wild on the right")').click();
  await ada.waitForSelector("dialog.choice", { state: "detached" });
  const fresh = ada.locator(".melds.own .meld.fresh .card");
  await ada.waitForFunction((count) => document.querySelectorAll(".melds.own .card.wild").length > count, before);
  expect(await fresh.last().getAttribute("class")).toContain("wild");
});

test("two people play a deal with a closed pile to its end, and see only its top card", async () => {
  const ada = await openPage(browser, server.address, { name: "Ada" });
  const blaise = await openPage(browser, server.address, { name: "Blaise" });
  const id = await createTable(ada, { Rules: "closed", Players: 2, ...QUIET });
  await takeSeat(blaise, id, 1);
  for (const page of [ada, blaise]) await waitForMatch(page);
  let most = 0;
  await playToEnd([ada, blaise], async (page, done) => {
    if (!done || done === "over") return;
    expect(await page.locator(".pile .card").count()).toBeLessThanOrEqual(1);
    most = Math.max(most, Number(/\d+$/.exec((await page.locator(".pile small").textContent()) ?? "")?.[0]));
  });
  expect(most).toBeGreaterThan(1);
  const scores = (page: Page) => page.locator("dialog.result .final dd").allTextContents();
  expect(await scores(ada)).toEqual(await scores(blaise));
  expect([...ada.complaints, ...blaise.complaints]).toEqual([]);
});
