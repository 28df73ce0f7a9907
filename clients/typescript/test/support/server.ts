import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type BuracoClient, type ClientOptions, createBuracoClient } from "../../src/index.ts";
import { PYTHON, ROOT } from "./paths.ts";

const START_MS = 60_000;

/** `buraco serve` in a process of its own, with a store that survives it. */
export class Server {
  readonly port: number;
  readonly webPort: number;
  readonly #folder = mkdtempSync(join(tmpdir(), "buraco-clients-"));
  readonly #options: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, webPort: number, options: readonly string[]) {
    this.port = port;
    this.webPort = webPort;
    this.#options = options;
  }

  /** Start a server, with more options of `buraco serve` if they are needed. */
  static async start(...options: string[]): Promise<Server> {
    const server = new Server(await freePort(), await freePort(), options);
    await server.restart();
    return server;
  }

  /** Return a client over gRPC; `close` of the server ends its connections. */
  client(options: ClientOptions = {}): BuracoClient {
    return createBuracoClient(createGrpcTransport({ baseUrl: `http://127.0.0.1:${this.port}` }), options);
  }

  /** Where the web port is. */
  get webUrl(): string {
    return `http://127.0.0.1:${this.webPort}`;
  }

  /** Start the server, which was killed, at the same ports and on the same store. */
  async restart(): Promise<void> {
    const ready = join(this.#folder, "ready");
    rmSync(ready, { force: true });
    const store = `sqlite:///${join(this.#folder, "tables.db")}`;
    const ports = ["--port", `${this.port}`, "--web-port", `${this.webPort}`, "--metrics-port", "-1"];
    const settings = ["--store", store, "--ready-file", ready, "--heartbeat", "0.5", ...ports, ...this.#options];
    const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("BURACO_"));
    const child = spawn(PYTHON, ["-m", "buraco_service", "serve", ...settings], {
      cwd: ROOT,
      env: { ...Object.fromEntries(environment), BURACO_SIGNING_KEYS: `test:${"k".repeat(48)}` },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4000);
    });
    this.#process = child;
    for (const deadline = Date.now() + START_MS; !existsSync(ready) || readFileSync(ready).length === 0; ) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`the service did not start: ${log}`);
      await sleep(20);
    }
  }

  /** End the process at once, as a crash does. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** End the process in order: streams are asked to reconnect. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** End the process and remove its store. */
  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
