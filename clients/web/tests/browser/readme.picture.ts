/** The picture of the table in README.md: a match of one person and three bots, some turns on. Run by `make web-picture`. */

import { resolve } from "node:path";
import { test } from "vitest";
import { createTable, openPage, startBrowser, step, waitForMatch, waitForTurn } from "./browser";
import { Server } from "./server";

const PICTURE = resolve(import.meta.dirname, "../../table.png");
const STEPS = 22;

test("take the picture", async () => {
  const server = await Server.start();
  const browser = await startBrowser();
  const page = await openPage(browser, server.address, { name: "Alba" });
  await createTable(page, { Target: 0, "Time to confirm a score": 0 });
  await waitForMatch(page);
  for (let steps = 0; steps < STEPS; ) {
    const done = await step(page);
    if (done) steps += 1;
    else await page.waitForTimeout(60);
    if (done === "over") throw new Error("the deal was over before the picture: try again");
  }
  await waitForTurn(page);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForTimeout(500);
  await page.screenshot({ path: PICTURE });
  await browser.close();
  await server.stop();
});
