/** A real server with the built page, on SQLite in a folder of its own, and bots that take seats. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DEFAULT_LEVEL } from "../../src/game/options";

const ROOT = resolve(import.meta.dirname, "../../../..");
const BURACO = process.env.BURACO ?? join(ROOT, ".venv/bin/buraco");
const PAGE = join(ROOT, "clients/web/dist");
const START_MS = 30_000;

export class Server {
  readonly #folder = mkdtempSync(join(tmpdir(), "buraco-web-"));
  #service: ChildProcess | undefined;
  #fleet: ChildProcess | undefined;
  #grpc = "127.0.0.1:0";
  #web = "127.0.0.1:0";

  /** Start a server; a fleet of bots, by their names, takes the seats that are free. */
  static async start({ bots = DEFAULT_LEVEL } = {}): Promise<Server> {
    const server = new Server();
    writeFileSync(join(server.#folder, "keys"), `first ${randomBytes(32).toString("hex")}\n`);
    await server.startService();
    if (bots) server.#startFleet(bots);
    return server;
  }

  /** The address of the page. */
  get address(): string {
    return `http://${this.#web}/`;
  }

  /** Start the service, again at the same addresses. */
  async startService(): Promise<void> {
    const ready = join(this.#folder, "ready.json");
    rmSync(ready, { force: true });
    const port = (address: string) => address.split(":").at(-1) ?? "0";
    const flags = ["--store", `sqlite:///${this.#folder}/tables.db`, "--signing-keys-file", join(this.#folder, "keys")];
    const ports = ["--port", port(this.#grpc), "--web-port", port(this.#web), "--metrics-port", "-1"];
    const files = ["--web-root", PAGE, "--ready-file", ready];
    this.#service = spawn(BURACO, ["serve", ...flags, ...ports, ...files], {
      stdio: ["ignore", "ignore", openSync(join(this.#folder, "log"), "a")],
    });
    const end = Date.now() + START_MS;
    for (;;) {
      const { address, web_address } = readReady(ready);
      if (address && web_address) {
        this.#grpc = address;
        this.#web = web_address;
        return;
      }
      if (Date.now() > end || this.#service.exitCode !== null) {
        throw new Error(`the service does not start: ${readFileSync(join(this.#folder, "log"), "utf8").slice(-2000)}`);
      }
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  /** Stop the service as an operator does. */
  async stopService(): Promise<void> {
    await stopped(this.#service);
  }

  async stop(): Promise<void> {
    await stopped(this.#fleet);
    await stopped(this.#service);
    if (!process.env.KEEP) rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Call a method with JSON, as curl would. */
  async call(method: string, request: object): Promise<Record<string, unknown>> {
    const answer = await fetch(`${this.address}buraco.v1.TableService/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    });
    return (await answer.json()) as Record<string, unknown>;
  }

  #startFleet(bots: string): void {
    const flags = ["--server", this.#grpc, "--bots", bots, "--courtesy", "2", "--seats-limit", "60"];
    this.#fleet = spawn(BURACO, ["fleet", ...flags], { stdio: "ignore" });
  }
}

function readReady(file: string): { address?: string; web_address?: string } {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}

async function stopped(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await ended;
  clearTimeout(kill);
}
