import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { Server } from "./support/server.ts";

test("the example plays a whole match and verifies its cards", async () => {
  const server = await Server.start();
  try {
    const program = join(import.meta.dirname, "..", "examples", "play-match.ts");
    const address = `http://127.0.0.1:${server.port}`;
    const { stdout } = await promisify(execFile)(process.execPath, [program, address], { timeout: 50_000 });
    expect(stdout).toMatch(/^Ada (-?\d+) : (-?\d+) Blaise$/m);
    expect(stdout).toContain("Deal 1: the cards were dealt as promised");
  } finally {
    await server.close();
  }
});
