/** A real Chromium, from npm, and what people do in it. */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import chromium from "@sparticuz/chromium";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium as driver, type Page } from "playwright-core";

/** Screens that the page is looked at on. */
export const SIZES = {
  phone: { width: 390, height: 844 },
  tablet: { width: 820, height: 1180 },
  wide: { width: 1440, height: 900 },
};
export type Size = keyof typeof SIZES;

const ARTEFACTS = resolve(import.meta.dirname, "../../artefacts");

// Not those of the package, which are for another place: one process, and no security of the web.
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-precise-memory-info",
];

/** Start a browser; the variable CHROMIUM names another one than that of npm. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM || (await chromium.executablePath());
  return driver.launch({ executablePath, args: FLAGS, headless: true });
}

interface Person {
  size?: Size;
  theme?: "light" | "dark";
  language?: string;
  name?: string;
}

/** What a page did that it should not. */
export interface Watched {
  /** Errors and warnings on the console. */
  complaints: string[];
  /** Requests to anywhere else. */
  outside: string[];
}

/** Open the lobby as a person with a browser of its own. */
export async function openPage(browser: Browser, address: string, person: Person = {}): Promise<Page & Watched> {
  const { size = "wide", theme = "light", language = "en", name } = person;
  const context = await browser.newContext({
    viewport: SIZES[size],
    hasTouch: size === "phone",
    colorScheme: theme,
    locale: language,
  });
  const page = await openTab(context, address);
  if (name) await signIn(page, name);
  return page;
}

/** Open the lobby in another tab of a person. */
export async function openTab(context: BrowserContext, address: string): Promise<Page & Watched> {
  const page: Page & Watched = Object.assign(await context.newPage(), { complaints: [], outside: [] });
  const { origin } = new URL(address);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.complaints.push(message.text());
  });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => {
    if (request.url().startsWith("http") && new URL(request.url()).origin !== origin) page.outside.push(request.url());
  });
  // What the page told its user in short messages, also those that are gone again.
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(globalThis, { told });
    new MutationObserver(() => {
      const text = document.querySelector(".toast")?.textContent;
      if (text && text !== told.at(-1)) told.push(text);
    }).observe(document, { childList: true, subtree: true, characterData: true });
  });
  await page.goto(address);
  await page.waitForSelector(".lobby, .table-page, .notice");
  return page;
}

export async function signIn(page: Page, name: string): Promise<void> {
  await page.click(".lobby .bar button:not(.icon)");
  await page.fill(".sign-in input", name);
  await page.click(".sign-in .main");
  await page.waitForSelector(".sign-in", { state: "detached" });
}

/** Open a table by the form, with choices by their labels; return its id. */
export async function createTable(page: Page, choices: Record<string, string | number> = {}): Promise<string> {
  await page.click(".start button:nth-of-type(2)");
  await page.waitForSelector(".create form select option", { state: "attached" });
  for (const [label, value] of Object.entries(choices)) {
    const field = page.locator(".create").getByLabel(label).first();
    if ((await field.evaluate((element) => element.tagName)) === "SELECT") await field.selectOption(String(value));
    else await field.fill(String(value));
  }
  await page.click(".create form .main");
  await page.waitForURL(/#\/table\//);
  return decodeURIComponent(page.url().split("#/table/")[1]?.split("?")[0] ?? "");
}

/** Take a seat of a table that waits. */
export async function takeSeat(page: Page, id: string, seat: number): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/table/${id}`);
  await page.click(`.places button:has-text("Take seat ${seat + 1}")`);
}

/** Wait until a match is on, with the person's cards in the hand. */
export async function waitForMatch(page: Page): Promise<void> {
  await page.waitForSelector(".board .held");
}

/** Wait until it is the person's turn; false if the match ends instead. */
export async function waitForTurn(page: Page, timeout = 60_000): Promise<boolean> {
  await page.waitForSelector(".board.my-turn .stock.open, dialog.result", { timeout });
  return (await page.locator("dialog.result").count()) === 0;
}

export type Step = "over" | "score" | "choice" | "draw" | "lay" | "discard" | undefined;

/**
 * Do what a person would do next, by the buttons; undefined if nothing can be done now. Of the hints the first is taken,
 * or the `last`, which has most wilds.
 */
export async function step(page: Page, hints: "first" | "last" = "first"): Promise<Step> {
  if (await page.locator("dialog.result").count()) return "over";
  const confirm = page.locator("dialog.score .main:enabled");
  if (await confirm.count()) {
    // Meanwhile the next deal may have come, which closes the window.
    await confirm.click({ timeout: 1000 }).catch(() => undefined);
    return "score";
  }
  const choice = page.locator("dialog.choice .list button").first();
  if (await choice.count()) {
    await choice.click();
    return "choice";
  }
  if (!(await page.locator(".board.my-turn").count())) return undefined;
  const draw = page.locator(".centre .stock.open:enabled");
  if (await draw.count()) {
    await act(page, () => draw.click());
    return "draw";
  }
  const hinter = page.locator(".hinter:enabled");
  if (!(await hinter.count())) return undefined;
  if ((await hinter.getAttribute("aria-pressed")) !== "true") await hinter.click();
  // Until the list of now has come, nothing can be undone or played: so the hints are those of a move before.
  const hint = page.locator(".board:not(.waits) .hints button")[hints]();
  if (await hint.count()) {
    await hint.click();
    const lay = page.locator(".actions .main:not(.discard):enabled").first();
    if (await lay.count()) {
      await act(page, () => lay.click());
      return "lay";
    }
  }
  return (await discardSomething(page)) ? "discard" : undefined;
}

/** Discard the last card of the hand that can be discarded, by the keyboard. */
export async function discardSomething(page: Page): Promise<boolean> {
  const unpick = page.locator(".actions .quiet");
  if (await unpick.count()) await unpick.click();
  const cards = page.locator(".held");
  for (let at = (await cards.count()) - 1; at >= 0; at--) {
    // A move that was on its way may have changed the hand, or ended the deal.
    if (
      !(await cards
        .nth(at)
        .focus({ timeout: 1000 })
        .then(
          () => true,
          () => false,
        ))
    )
      return false;
    await page.keyboard.press("Enter");
    const discard = page.locator(".actions .discard:enabled");
    if (await discard.count()) {
      await act(page, () => discard.click());
      return true;
    }
    await page.keyboard.press("Enter");
  }
  return false;
}

/** The revision of the table that the page shows. */
export async function revision(page: Page): Promise<number> {
  return Number(await page.getAttribute(".board", "data-revision"));
}

/** Do something, and wait until the table has changed, or a window asks something. */
export async function act(page: Page, doing: () => Promise<unknown>): Promise<void> {
  const before = String(await revision(page));
  await doing();
  const changed = page.waitForFunction(
    (old) =>
      document.querySelector("dialog[open]") || document.querySelector<HTMLElement>(".board")?.dataset.revision !== old,
    before,
    { timeout: 20_000 },
  );
  await changed.catch(async (error) => {
    await picture(page, "stuck");
    const told = await page.evaluate(() => (globalThis as unknown as { told: string[] }).told);
    throw new Error(`nothing changed; the page told: ${told.join(" / ")}`, { cause: error });
  });
}

/** Play all that people can until the match is over; calls back after every step. */
export async function playToEnd(
  pages: readonly Page[],
  onStep: (page: Page, step: Step) => Promise<void> = async () => {},
): Promise<void> {
  const over = new Set<Page>();
  while (over.size < pages.length) {
    let waits = true;
    for (const page of pages) {
      if (over.has(page)) continue;
      const done = await step(page);
      await onStep(page, done);
      if (done === "over") over.add(page);
      if (done) waits = false;
    }
    if (waits) await pages[0]?.waitForTimeout(60);
  }
}

/** Return what a person with a screen reader or weak eyes would stumble over, by axe. */
export async function barriers(page: Page): Promise<string[]> {
  // By the debugger's own way in: the page's policy lets no other script in.
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ["violations"],
    });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  });
}

/** Keep a picture of the page among the artefacts. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`) });
}
