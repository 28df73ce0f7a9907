import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  act,
  createTable,
  discardSomething,
  openPage,
  openTab,
  revision,
  step,
  waitForMatch,
  waitForTurn,
} from "./browser";
import { browser, server, useStage } from "./stage";

let ada: Page;
let id: string;

useStage();

beforeEach(async () => {
  ada = await openPage(browser, server.address, { name: "Ada" });
  id = await createTable(ada, { Bots: 3, Target: 0, "Time for a turn": 0, "Time to confirm a score": 0 });
  await waitForMatch(ada);
  await waitForTurn(ada);
});

afterEach(async () => {
  await ada.context().close();
});

/** The cards of the hand, as a screen reader names them. */
async function hand(page: Page): Promise<string[]> {
  return (
    await page
      .locator(".held")
      .evaluateAll((cards) => cards.map((card) => card.querySelector(".said")?.textContent ?? ""))
  ).sort();
}

test("a reload comes back to the same seat and hand, and play goes on", async () => {
  const before = await hand(ada);
  await ada.reload();
  await waitForMatch(ada);
  expect(await hand(ada)).toEqual(before);
  await waitForTurn(ada);
  expect(await step(ada)).toBe("draw");
});

test("a restart of the server needs no reload", async () => {
  await ada.evaluate(() => Object.assign(globalThis, { notReloaded: true }));
  const before = await hand(ada);
  await server.stopService();
  await ada.waitForSelector(".bar .lost");
  await server.startService();
  await ada.waitForSelector(".bar .lost", { state: "detached", timeout: 30_000 });
  expect(await hand(ada)).toEqual(before);
  await waitForTurn(ada);
  expect(await step(ada)).toBe("draw");
  expect(await ada.evaluate(() => "notReloaded" in globalThis)).toBe(true);
});

test("what happened while the connection was lost is there when it is back", async () => {
  const twin = await openTab(ada.context(), `${server.address}#/table/${id}`);
  await waitForMatch(twin);
  const far = await ada.context().newCDPSession(ada);
  const connect = (offline: boolean) =>
    far.send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await far.send("Network.enable");
  await connect(true);
  await waitForTurn(twin);
  await step(twin);
  await discardSomething(twin);
  await connect(false);
  await waitForTurn(twin);
  const reached = await revision(twin);
  await ada.waitForFunction(
    (least) => Number(document.querySelector<HTMLElement>(".board")?.dataset.revision) >= least,
    reached,
    { timeout: 60_000 },
  );
  expect(await hand(ada)).toEqual(await hand(twin));
});

test("on a slow network a move is played once, however often its button is pressed", async () => {
  const far = await ada.context().newCDPSession(ada);
  await far.send("Network.enable");
  await far.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 700,
    downloadThroughput: 20_000,
    uploadThroughput: 20_000,
  });
  const before = (await hand(ada)).length;
  await act(ada, async () => {
    await ada.locator(".stock.open").dispatchEvent("click");
    await ada.locator(".stock").dispatchEvent("click");
  });
  await ada.waitForTimeout(2000);
  expect((await hand(ada)).length).toBe(before + 1);
  expect(await ada.locator(".toast").count()).toBe(0);
});

test("two tabs of a player share the seat, and each sees what the other does", async () => {
  const twin = await openTab(ada.context(), `${server.address}#/table/${id}`);
  await waitForMatch(twin);
  expect(await hand(twin)).toEqual(await hand(ada));
  expect(await step(twin)).toBe("draw");
  await ada.waitForFunction(
    (least) => Number(document.querySelector<HTMLElement>(".board")?.dataset.revision) >= least,
    await revision(twin),
  );
  expect(await hand(ada)).toEqual(await hand(twin));
});

test("a card that is dragged onto the pile is discarded", async () => {
  await step(ada);
  const before = (await hand(ada)).length;
  const from = await ada.locator(".held").first().boundingBox();
  const to = await ada.locator(".pile").boundingBox();
  if (!from || !to) throw new Error("no places");
  await act(ada, async () => {
    await ada.mouse.move(from.x + 12, from.y + 30);
    await ada.mouse.down();
    await ada.mouse.move(from.x + 60, from.y - 60, { steps: 4 });
    await ada.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 6 });
    await ada.mouse.up();
  });
  await ada.waitForFunction((count) => document.querySelectorAll(".held").length < count, before);
});

test("a spectator sees the table, and no hand", async () => {
  const visitor = await openPage(browser, `${server.address}#/table/${id}`);
  await visitor.waitForSelector(".board .plate");
  expect(await visitor.locator(".held").count()).toBe(0);
  expect(await visitor.locator(".tools").count()).toBe(0);
  await visitor.context().close();
});
