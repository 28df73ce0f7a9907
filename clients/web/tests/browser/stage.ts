/** The server and the browser of a file of tests: started before its first test, stopped after its last. */

import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { startBrowser } from "./browser";
import { Server } from "./server";

export let server: Server;
export let browser: Browser;

/** Have both in this file; `bots` by their names take the free seats, as `Server.start` describes. */
export function useStage(options: { bots?: string } = {}): void {
  beforeAll(async () => {
    server = await Server.start(options);
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });
}
