/** What people do at a table besides playing cards, by the page's buttons. No bots are there. */

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { createTable, openPage, step, takeSeat, waitForMatch, waitForTurn } from "./browser";
import { browser, server, useStage } from "./stage";

const QUIET = { Target: 0, "Time for a turn": 0, "Time to confirm a score": 0 };

useStage({ bots: "" });

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

/** Open a page for each name. */
function people(...names: string[]): Promise<Page[]> {
  return Promise.all(names.map((name) => openPage(browser, server.address, { name })));
}

/** Seat people at a new table of the first one, and wait until its match is on. */
async function seated(pages: readonly Page[], choices: Record<string, string | number> = {}): Promise<string> {
  const [first, ...others] = pages as [Page, ...Page[]];
  const id = await createTable(first, { Players: pages.length, ...QUIET, ...choices });
  for (const [index, page] of others.entries()) await takeSeat(page, id, index + 1);
  for (const page of pages) await waitForMatch(page);
  return id;
}

/** Press an entry of the menu; one that asks again is pressed twice. */
async function choose(page: Page, entry: string, { careful = false } = {}): Promise<void> {
  await page.click('.bar button[aria-label="Menu"]');
  await page.click(`dialog.menu button:has-text("${entry}")`);
  if (careful) await page.click(`dialog.menu button:has-text("${entry}: really?")`);
}

/** Return the title of the result. */
async function result(page: Page): Promise<string | null> {
  await page.waitForSelector("dialog.result");
  return page.locator("dialog.result h2").textContent();
}

/** Play one turn, whoever is to move. */
async function playTurn(pages: readonly Page[]): Promise<void> {
  const mover = await Promise.any(pages.map(async (page) => ((await waitForTurn(page, 20_000)) ? page : page)));
  while ((await step(mover)) !== "discard") await mover.waitForTimeout(30);
}

test("both sides offer a draw, each sees the other's offer, and one can be withdrawn", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  await seated([ada, blaise]);
  await choose(ada, "Offer a draw");
  await blaise.waitForSelector('.log :text("Ada offers a draw")');
  await choose(ada, "Withdraw the offer of a draw");
  await blaise.waitForSelector('.log :text("The offer of Ada is no longer open")');
  await choose(ada, "Offer a draw");
  await choose(blaise, "Offer a draw");
  expect(await result(ada)).toBe("A draw");
  expect(await result(blaise)).toBe("A draw");
});

test("one of two partners only offers to resign, and the other one's consent ends the match", async () => {
  const pages = (await people("Ada", "Blaise", "Cora", "Dora")) as [Page, Page, Page, Page];
  const [ada, blaise, cora] = pages;
  await seated(pages);
  await choose(ada, "Resign", { careful: true });
  await cora.waitForSelector('.log :text("Ada")');
  await cora.waitForTimeout(200);
  expect(await cora.locator("dialog.result").count()).toBe(0);
  await choose(ada, "Withdraw the offer to resign");
  await choose(ada, "Resign", { careful: true });
  await choose(cora, "Resign", { careful: true });
  expect(await result(cora)).toBe("You lost");
  expect(await result(blaise)).toBe("You won!");
});

test("a match can be aborted before everybody has moved, and nobody has won it", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  await seated([ada, blaise]);
  await choose(blaise, "Abort the match", { careful: true });
  expect(await result(ada)).toBe("The match was aborted");
});

test("after everybody has moved, why a match is not aborted is shown", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  await seated([ada, blaise]);
  await playTurn([ada, blaise]);
  await playTurn([ada, blaise]);
  await choose(ada, "Abort the match", { careful: true });
  await ada.waitForSelector(".toast");
  expect(await ada.locator("dialog.result").count()).toBe(0);
});

test("both players get their seats at one table for the rematch, and play there", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  const id = await seated([ada, blaise]);
  await choose(blaise, "Resign", { careful: true });
  for (const page of [ada, blaise]) {
    await result(page);
    await page.click('dialog.result .main:has-text("Rematch")');
  }
  for (const page of [ada, blaise]) {
    await page.waitForSelector("dialog.result", { state: "detached" });
    await waitForMatch(page);
  }
  expect(ada.url()).toBe(blaise.url());
  expect(ada.url()).not.toContain(id);
  await playTurn([ada, blaise]);
});

test("a player who leaves is back in the lobby, and another person takes over the hand", async () => {
  const [ada, blaise, cora] = (await people("Ada", "Blaise", "Cora")) as [Page, Page, Page];
  const id = await seated([ada, blaise]);
  await choose(blaise, "Leave the table", { careful: true });
  await blaise.waitForSelector(".lobby");
  await ada.waitForSelector('.log :text("Blaise")');
  await cora.goto(`${server.address}#/table/${id}`);
  await cora.waitForSelector(".board .plate");
  await choose(cora, "Take the free seat");
  await waitForMatch(cora);
  await ada.waitForSelector('.plate :text("Cora")');
});

test("the creator of a table removes a player, whose seat is free for others only", async () => {
  const [ada, blaise, cora] = (await people("Ada", "Blaise", "Cora")) as [Page, Page, Page];
  const id = await createTable(ada, { Players: 4, ...QUIET });
  await takeSeat(blaise, id, 1);
  await ada.waitForSelector('.places :text("Blaise")');
  expect(await blaise.locator('.places button:has-text("Remove")').count()).toBe(0);
  await ada.click('.places li:has-text("Blaise") button:has-text("Remove")');
  await ada.waitForSelector('.places :text("Blaise")', { state: "detached" });
  await takeSeat(blaise, id, 1);
  await blaise.waitForSelector(".toast");
  await takeSeat(cora, id, 1);
  await ada.waitForSelector('.places :text("Cora")');
  expect(await ada.locator('.places :text("Blaise")').count()).toBe(0);
});

test("the stake is held from both, and the winner's page and lobby show what was won", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  await seated([ada, blaise], { Stake: 150 });
  await ada.waitForSelector(".side .facts :text('150')");
  await choose(blaise, "Resign", { careful: true });
  await result(ada);
  expect(await ada.locator("dialog.result").textContent()).toContain("Credits: +150");
  await result(blaise);
  expect(await blaise.locator("dialog.result").textContent()).toContain("Credits: -150");
  for (const [page, credit] of [
    [ada, "1150 credits"],
    [blaise, "850 credits"],
  ] as const) {
    await page.click('dialog.result a[href="#/"]');
    await page.waitForSelector(`.lobby .credit:text-is("${credit}")`);
  }
});

test("players of a table without spectators read its deals, and others do not see it", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  const id = await seated([ada, blaise], { Spectators: "2" });
  await choose(blaise, "Resign", { careful: true });
  await result(ada);
  await ada.click('dialog.result button:has-text("Deals so far")');
  await ada.click(".deal > summary");
  await ada.click('.deal button:has-text("Check the shuffle")');
  await ada.waitForSelector(".fair .good");
  const visitor = await openPage(browser, `${server.address}#/table/${id}`);
  await visitor.waitForSelector("main.notice");
});

test("two who press Play now meet at one table", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  for (const page of [ada, blaise]) await page.locator(".filters select").nth(2).selectOption("2");
  await Promise.all([ada, blaise].map((page) => page.click('.start .main:has-text("Play now")')));
  await waitForMatch(ada);
  await waitForMatch(blaise);
  expect(ada.url()).toBe(blaise.url());
});

test("a spectator sees a table with a delay as it was, and gets there in time", async () => {
  const [ada, blaise] = (await people("Ada", "Blaise")) as [Page, Page];
  const { table } = (await server.call("CreateTable", {
    ruleSetId: "burraco",
    seats: 2,
    requestId: crypto.randomUUID(),
    options: { spectatorDelay: "3s" },
  })) as { table: { id: string } };
  await takeSeat(ada, table.id, 0);
  await takeSeat(blaise, table.id, 1);
  await waitForMatch(ada);
  await waitForMatch(blaise);
  const visitor = await openPage(browser, `${server.address}#/table/${table.id}`);
  await visitor.waitForSelector(".board .plate");
  await playTurn([ada, blaise]);
  const newest = (await ada.locator(".log li").last().textContent()) ?? "";
  expect(newest).toContain("discarded");
  expect(await visitor.locator(".log").textContent()).not.toContain(newest);
  await visitor.waitForSelector(`.log :text-is("${newest}")`, { timeout: 10_000 });
  expect(await visitor.locator(".held").count()).toBe(0);
});
