import { expect, test } from "vitest";
import { createTable, openPage, playToEnd, waitForMatch } from "./browser";
import { browser, server, useStage } from "./stage";

const MEMORY_GROWTH = 1.35;

useStage();

test("memory stays level over a long match that is watched", async () => {
  const page = await openPage(browser, server.address, { name: "Ada" });
  const created = (await server.call("CreateTable", {
    ruleSetId: "buraco-plus-classic",
    seats: 4,
    targetScore: 3005,
    requestId: crypto.randomUUID(),
  })) as { table: { id: string } };
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/table/${created.table.id}`);
  await page.waitForSelector(".board");
  const debug = await page.context().newCDPSession(page);
  const memory = async () => {
    await debug.send("HeapProfiler.collectGarbage");
    return (await debug.send("Runtime.getHeapUsage")).usedSize;
  };
  await page.waitForFunction(() => document.querySelectorAll(".log li").length >= 150, undefined, { timeout: 60_000 });
  const early = await memory();
  await page.waitForSelector("dialog.result, dialog.score", { timeout: 200_000 });
  await page.waitForSelector(".facts :text('Target')");
  for (;;) {
    const close = page.locator("dialog.score .main");
    if (await close.count()) await close.click({ timeout: 1000 }).catch(() => undefined);
    if (await page.locator("dialog.result").count()) break;
    await page.waitForTimeout(100);
  }
  const late = await memory();
  console.log(`memory ${(early / 1e6).toFixed(1)} MB after 150 lines, ${(late / 1e6).toFixed(1)} MB at the end`);
  expect(late / early).toBeLessThan(MEMORY_GROWTH);
  expect(page.complaints).toEqual([]);
  await page.context().close();
});

test("the score of a match is the same for the people who played it and for one who comes later", async () => {
  const page = await openPage(browser, server.address, { name: "Ada" });
  const id = await createTable(page, { Target: 0, "Time for a turn": 0, "Time to confirm a score": 0 });
  await waitForMatch(page);
  await playToEnd([page]);
  const later = await openPage(browser, `${server.address}#/table/${id}`);
  await later.waitForSelector("dialog.result");
  expect(await later.locator(".final dd").allTextContents()).toEqual(await page.locator(".final dd").allTextContents());
  await later.context().close();
  await page.context().close();
});
