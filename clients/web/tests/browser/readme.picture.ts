/** The picture of the table in README.md: a match of one person and three bots, some turns on. Run by `make web-picture`. */

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { createTable, openPage, startBrowser, step, waitForMatch } from "./browser";
import { Server } from "./server";

const PICTURE = resolve(import.meta.dirname, "../../table.webp");
/** What makes a picture worth looking at. */
const MELDS = 6;
const HAND = 6;
const DEALS = 8;

/** Play a deal until the table is worth looking at, with the person to move; false if it never is. */
async function playUntilFull(page: Page): Promise<boolean> {
  for (;;) {
    if (await page.locator(".board.my-turn .stock.open").count()) {
      const melds = await page.locator(".meld").count();
      if (melds >= MELDS && (await page.locator(".held").count()) >= HAND) return true;
    }
    const done = await step(page);
    if (done === "over") return false;
    if (!done) await page.waitForTimeout(60);
  }
}

test("take the picture", async () => {
  const server = await Server.start();
  const browser = await startBrowser();
  const page = await openPage(browser, server.address, { name: "Alba" });
  for (let deal = 1; deal <= DEALS; deal++) {
    await createTable(page, { Target: 0, "Time to confirm a score": 0 });
    await waitForMatch(page);
    if (await playUntilFull(page)) break;
    if (deal === DEALS) throw new Error("no deal was worth a picture: try again");
    await page.click('dialog.result a[href="#/"]');
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForTimeout(500);
  const debug = await page.context().newCDPSession(page);
  const { data } = await debug.send("Page.captureScreenshot", { format: "webp", quality: 85 });
  writeFileSync(PICTURE, Buffer.from(data, "base64"));
  await browser.close();
  await server.stop();
});
