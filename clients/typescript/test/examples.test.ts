import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TableState } from "../src/messages.ts";
import { Server } from "./support/server.ts";

const FOLDER = join(import.meta.dirname, "..");

let server: Server;
beforeAll(async () => {
  server = await Server.start();
});
afterAll(() => server.close());

/** Run an example against the server, and return what it prints. */
async function run(name: string, ...values: string[]): Promise<string> {
  const options = [join(FOLDER, "examples", name), `http://127.0.0.1:${server.port}`, ...values];
  return (await promisify(execFile)(process.execPath, options, { timeout: 50_000 })).stdout;
}

test("the example plays a whole match and verifies its cards", async () => {
  const printed = await run("play-match.ts");
  expect(printed).toMatch(/^Ada (-?\d+) : (-?\d+) Blaise$/m);
  expect(printed).toContain("Deal 1: the cards were dealt as promised");
});

test("two players meet by the program of the README, and play to the end", async () => {
  const first = run("quick-start.ts", "Ada");
  await playerWaits();
  const printed = await Promise.all([first, run("quick-start.ts", "Blaise")]);
  for (const log of printed) {
    expect(log).toContain("Seat 1 drew");
    expect(log).toMatch(/(wins the match|draw), -?\d+ : -?\d+$/m);
  }
});

/** Return when a player sits at a table and waits for another. */
async function playerWaits(): Promise<void> {
  const client = server.client();
  for (;;) {
    for await (const table of client.listTables({ state: TableState.WAITING })) {
      if (table.seats.some((seat) => seat.playerName !== "")) return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test.each(["quick-start.ts", "page.ts"])("the README shows examples/%s, which is checked", (name) => {
  const readme = readFileSync(join(FOLDER, "README.md"), "utf8");
  expect(readme).toContain(`\`\`\`ts\n${readFileSync(join(FOLDER, "examples", name), "utf8")}\`\`\``);
});
