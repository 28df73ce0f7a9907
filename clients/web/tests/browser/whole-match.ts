/** A whole match through the page, looked at on its way. */

import type { Browser } from "playwright-core";
import { expect } from "vitest";
import { barriers, createTable, openPage, picture, playToEnd, type Size, takeSeat, waitForMatch } from "./browser";
import type { Server } from "./server";

/** Play a match of two people and two bots on screens of a size, and expect no errors, barriers or requests to elsewhere. */
export async function playWholeMatch(
  server: Server,
  browser: Browser,
  size: Size,
  theme: "light" | "dark",
): Promise<void> {
  const ada = await openPage(browser, server.address, { size, theme, name: "Ada" });
  const blaise = await openPage(browser, server.address, { size, theme, name: "Blaise" });
  await picture(ada, `lobby-${size}-${theme}`);
  const found = [...(await barriers(ada))];
  const id = await createTable(ada, { Target: 0, "Time for a turn": 0, "Time to confirm a score": 0 });
  await takeSeat(blaise, id, 2);
  await ada.waitForSelector('.places :text("Blaise")');
  found.push(...(await barriers(ada)));
  await waitForMatch(ada);
  await waitForMatch(blaise);
  let steps = 0;
  await playToEnd([ada, blaise], async (page, step) => {
    if (!step || page !== ada) return;
    steps += 1;
    if (steps % 12 === 6) found.push(...(await barriers(page)));
    if (steps === 10) await picture(page, `table-${size}-${theme}`);
    if (step === "score") await picture(page, `after-score-${size}-${theme}`);
  });
  await picture(ada, `result-${size}-${theme}`);
  found.push(...(await barriers(ada)));
  const scores = (page: typeof ada) => page.locator("dialog.result .final dd").allTextContents();
  expect(await scores(ada)).toEqual(await scores(blaise));
  const { table } = await server.call("GetTable", { tableId: id });
  expect(table).toMatchObject({ state: "TABLE_STATE_FINISHED" });
  expect(await scores(ada)).toEqual((table as { result: { scores: number[] } }).result.scores.map(String));
  expect([...new Set(found)]).toEqual([]);
  expect([...ada.complaints, ...blaise.complaints]).toEqual([]);
  expect([...ada.outside, ...blaise.outside]).toEqual([]);
  await ada.context().close();
  await blaise.context().close();
}
