// A real Chromium, from npm, and what tests do with pages in it.

import chromium from "@sparticuz/chromium";
import { chromium as driver } from "playwright-core";

/** Screens that the page is looked at on. */
export const SIZES = {
  phone: { width: 390, height: 844 },
  tablet: { width: 820, height: 1180 },
  wide: { width: 1440, height: 900 },
};

// Its own list of flags is for another place: a single process, and no security of the web.
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Start a browser; CHROMIUM names another one than that of npm. */
export async function startBrowser() {
  const executablePath = process.env.CHROMIUM || (await chromium.executablePath());
  return driver.launch({ executablePath, args: FLAGS, headless: true });
}

/** Open a page as a person of its own, and note what its console complains of and where it asks outside. */
export async function openPage(browser, address, { size = "wide", theme = "light", language = "en", name } = {}) {
  const context = await browser.newContext({
    viewport: SIZES[size],
    hasTouch: size === "phone",
    colorScheme: theme,
    locale: language,
    baseURL: address,
  });
  const page = await context.newPage();
  page.complaints = [];
  page.outside = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.complaints.push(message.text());
  });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(address).origin && protocol.startsWith("http")) page.outside.push(request.url());
  });
  await page.goto(address);
  await page.waitForSelector(".lobby");
  if (name) await signIn(page, name);
  return page;
}

/** Give the page a name to play under. */
export async function signIn(page, name) {
  await page.click(".lobby .bar button:not(.icon)");
  await page.fill(".sign-in input", name);
  await page.click(".sign-in .main");
  await page.waitForSelector(".sign-in", { state: "detached" });
}

/** Open a table by the form, with choices by the labels' names; returns its id. */
export async function createTable(page, choices = {}) {
  await page.click(".start button:nth-of-type(2)");
  await page.waitForSelector(".create form select option", { state: "attached" });
  for (const [label, value] of Object.entries(choices)) {
    const field = page.locator(".create").getByLabel(label).first();
    if ((await field.evaluate((element) => element.tagName)) === "SELECT") await field.selectOption(String(value));
    else await field.fill(String(value));
  }
  await page.click(".create form .main");
  await page.waitForURL(/#\/table\//);
  return decodeURIComponent(page.url().split("#/table/")[1].split("?")[0]);
}

/** Wait until a match is on, with the player's cards in the hand. */
export async function waitForMatch(page, timeout = 30_000) {
  await page.waitForSelector(".board .held", { timeout });
}

/** Take one step of the player's own, as a person would: by the buttons. Returns what was done, or nothing if nothing could be. */
export async function step(page) {
  if (await page.locator("dialog.result").count()) return "over";
  const confirm = page.locator("dialog.score .main:enabled");
  if (await confirm.count()) {
    // Meanwhile the next deal may have come, which closes the window.
    await confirm.click({ timeout: 1000 }).catch(() => undefined);
    return "score";
  }
  if (!(await page.locator(".board.my-turn").count())) return undefined;
  const choice = page.locator("dialog.choice .list button").first();
  if (await choice.count()) {
    await choice.click();
    return "choice";
  }
  const before = await page.getAttribute(".board", "data-revision");
  const act = async (button) => {
    await button.click({ timeout: 3000 });
    await page
      .waitForFunction(
        (old) => document.querySelector("dialog[open]") || document.querySelector(".board")?.dataset.revision !== old,
        before,
        { timeout: 6000 },
      )
      .catch(() => undefined);
  };
  const draw = page.locator(".centre .stock.open:enabled");
  if (await draw.count()) {
    await act(draw);
    return "draw";
  }
  const hinter = page.locator(".hinter:enabled");
  if (!(await hinter.count())) return undefined;
  if ((await hinter.getAttribute("aria-pressed")) !== "true") await hinter.click();
  const hint = page.locator(".hints button").first();
  if (await hint.count()) {
    await hint.click();
    const lay = page.locator(".actions .main:not(.discard):enabled").first();
    if (await lay.count()) {
      await act(lay);
      return "lay";
    }
  }
  await page.keyboard.press("Escape");
  const unpick = page.locator(".actions .quiet");
  if (await unpick.count()) await unpick.click();
  const cards = page.locator(".held");
  for (let at = 0; at < (await cards.count()); at++) {
    await cards.nth(at).focus();
    await page.keyboard.press("Enter");
    const discard = page.locator(".actions .discard:enabled");
    if (await discard.count()) {
      await act(discard);
      return "discard";
    }
    await cards.nth(at).focus();
    await page.keyboard.press("Enter");
  }
  return undefined;
}
