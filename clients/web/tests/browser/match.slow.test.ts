import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { type Size, startBrowser } from "./browser";
import { Server } from "./server";
import { playWholeMatch } from "./whole-match";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  server = await Server.start();
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test.each([
  ["tablet", "dark"],
  ["wide", "light"],
] as [Size, "light" | "dark"][])(
  "on a %s screen, %s, two people and two bots play a whole match, without errors, barriers or requests to elsewhere",
  async (size, theme) => playWholeMatch(server, browser, size, theme),
);
