import { expect, test } from "vitest";
import { barriers, createTable, openPage, picture, takeSeat, waitForMatch } from "./browser";
import { browser, server, useStage } from "./stage";

useStage({ bots: "" });

test("a phrase is read in the language of each player, a text as it was written", async () => {
  const ada = await openPage(browser, server.address, { name: "Ada" });
  const bruno = await openPage(browser, server.address, { name: "Bruno", language: "it" });
  const id = await createTable(ada, { Players: 2, Target: 0, "Time for a turn": 0 });
  await bruno.evaluate((table) => {
    location.hash = `#/table/${table}`;
  }, id);
  await bruno.click(".places button");
  await waitForMatch(ada);
  await waitForMatch(bruno);
  for (const page of [ada, bruno]) await page.click("#tab-chat");
  await ada.locator(".chat select").selectOption("GOOD_LUCK");
  await ada.fill(".chat form input:not([type])", "ciao <b>Bruno</b>");
  await ada.click('.chat button[type="submit"]');
  await bruno.waitForSelector(".chat li:nth-of-type(2)");
  const texts = await bruno.locator(".chat li").allTextContents();
  expect(texts[0]).toContain("Buona fortuna!");
  expect(texts[1]).toContain("ciao <b>Bruno</b>");
  expect(await ada.locator(".chat li").first().textContent()).toContain("Good luck!");
  expect(await barriers(ada)).toEqual([]);
  await picture(ada, "chat-wide-light");
  await ada.context().close();
  await bruno.context().close();
});

test("a table for those who are invited is joined by its link", async () => {
  const ada = await openPage(browser, server.address, { name: "Ada" });
  const id = await createTable(ada, { Players: 2, "Who may join": 2 });
  const link = await ada.locator(".invite input").inputValue();
  expect(link).toContain(`#/table/${id}?code=`);
  const stranger = await openPage(browser, server.address, { name: "Stranger" });
  await takeSeat(stranger, id, 1);
  await stranger.waitForSelector(".toast");
  const guest = await openPage(browser, server.address, { name: "Guest" });
  await guest.goto(link);
  await guest.click('.places button:has-text("Take seat 2")');
  await waitForMatch(guest);
  for (const page of [ada, stranger, guest]) await page.context().close();
});
