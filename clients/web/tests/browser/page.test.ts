import { expect, test } from "vitest";
import { act, barriers, createTable, openPage, picture, step, waitForMatch, waitForTurn } from "./browser";
import { browser, server, useStage } from "./stage";

const FIRST_PICTURE_MS = 1000;

useStage();

test("the first picture is there within a second", async () => {
  const page = await openPage(browser, server.address);
  await page.waitForSelector(".lobby .start");
  const times: number[] = [];
  // The first visit warms up the browser itself; the page is not cached for the others.
  for (let visit = 0; visit < 3; visit++) {
    const fresh = await openPage(browser, server.address);
    times.push(
      await fresh.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN),
    );
    await fresh.context().close();
  }
  console.log(`first picture after ${times.map(Math.round).join(", ")} ms`);
  expect(Math.min(...times)).toBeLessThan(FIRST_PICTURE_MS);
  await page.context().close();
});

test("the page may load nothing but its own files, and run no script from a text", async () => {
  const answer = await fetch(server.address);
  const html = await answer.text();
  const policy = /http-equiv="Content-Security-Policy"\s+content="([^"]+)"/.exec(html)?.[1] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain("unsafe");
  const page = await openPage(browser, server.address);
  const blocked = await page.evaluate(async () => {
    const asked = await fetch("http://127.0.0.1:9/").then(
      () => "answered",
      () => "refused",
    );
    const script = document.createElement("script");
    script.textContent = "globalThis.ran = true";
    document.body.append(script);
    return [asked, "ran" in globalThis];
  });
  expect(blocked).toEqual(["refused", false]);
  await page.context().close();
});

test.each([
  ["en", "Play now"],
  ["it", "Gioca subito"],
  ["pt", "Jogar agora"],
  ["es", "Jugar ya"],
])("a browser in %s gets its language", async (language, text) => {
  const page = await openPage(browser, server.address, { language });
  expect(await page.locator(".start .main").textContent()).toBe(text);
  expect(await page.getAttribute("html", "lang")).toBe(language);
  await page.context().close();
});

test("language, look and colours are chosen in the settings, and kept", async () => {
  const page = await openPage(browser, server.address);
  await page.click('button[aria-label="Settings"]');
  await page.locator(".settings select").nth(0).selectOption("it");
  await page.locator(".settings select").nth(1).selectOption("dark");
  await page.locator(".settings input").check();
  expect(await barriers(page)).toEqual([]);
  await page.reload();
  await page.waitForSelector(".lobby");
  expect(await page.getAttribute("html", "lang")).toBe("it");
  expect(await page.getAttribute("html", "data-theme")).toBe("dark");
  expect(await page.getAttribute("html", "class")).toBe("four-colours");
  await page.context().close();
});

test("a whole turn can be played by the keyboard alone", async () => {
  const page = await openPage(browser, server.address, { name: "Ada" });
  await createTable(page, { Bots: 3, Target: 0, "Time for a turn": 0, "Time to confirm a score": 0 });
  await waitForMatch(page);
  await waitForTurn(page);
  const press = async (where: string) => {
    for (let tab = 0; tab < 60; tab++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, where)) return;
    }
    throw new Error(`${where} cannot be reached by Tab`);
  };
  await press(".stock");
  await act(page, () => page.keyboard.press("Enter"));
  await press(".held");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Space");
  expect(await page.locator('.held[aria-pressed="true"]').count()).toBe(1);
  await page.keyboard.press("Space");
  expect(await page.locator('.held[aria-pressed="true"]').count()).toBe(0);
  for (let tries = 0; tries < 12 && !(await page.locator(".actions .discard").count()); tries++) {
    if (await page.locator('.held[aria-pressed="true"]').count()) await page.keyboard.press("Space");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Space");
  }
  await page.keyboard.press("Shift+Tab");
  expect(await page.evaluate(() => document.activeElement?.matches(".actions .discard"))).toBe(true);
  await act(page, () => page.keyboard.press("Enter"));
  await page.context().close();
});

test("a score is confirmed line by line, and the shuffle of its deal checked in the browser", async () => {
  const page = await openPage(browser, server.address, { name: "Ada" });
  await createTable(page, { Bots: 3, Target: 1005, "Time for a turn": 0, "Time to confirm a score": 60 });
  await waitForMatch(page);
  while (!(await page.locator("dialog.score").count())) if (!(await step(page))) await page.waitForTimeout(60);
  expect(await page.locator("dialog.score .sheet").count()).toBe(2);
  for (const sheet of await page.locator("dialog.score .sheet").all()) {
    const lines = (await sheet.locator("tbody td").allTextContents()).map((text) => Number(text.replace("−", "-")));
    const total = await sheet.locator("tfoot td").first().textContent();
    expect(lines.reduce((sum, points) => sum + points, 0)).toBe(Number(total?.replace("−", "-")));
  }
  expect(await barriers(page)).toEqual([]);
  await picture(page, "score-wide-light");
  await page.click("dialog.score .main");
  await page.waitForSelector("dialog.score", { state: "detached", timeout: 30_000 });
  await page.click('.bar button[aria-label="Menu"]');
  await page.click('dialog.menu button:has-text("Deals so far")');
  await page.click(".deal > summary");
  await page.click('.deal button:has-text("Check the shuffle")');
  await page.waitForSelector(".fair .good");
  expect(await page.locator(".fair").textContent()).toContain("Compared with what this page saw");
  await picture(page, "fair-deal-wide-light");
  await page.context().close();
});
