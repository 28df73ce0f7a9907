import { Card, create, EventSchema } from "@buraco/client/messages";
import { describe, expect, test } from "vitest";
import { languageFor, PageTexts } from "../../src/game/texts";
import en from "../../src/i18n/en.json";
import es from "../../src/i18n/es.json";
import it from "../../src/i18n/it.json";
import pt from "../../src/i18n/pt.json";

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([found]) => found).sort();

describe.each(Object.entries({ es, it, pt }))("the texts of the page in %s", (_, texts) => {
  test("have the keys of the English ones", () => {
    expect(Object.keys(texts).sort()).toEqual(Object.keys(en).sort());
  });

  test("have the placeholders of the English ones, and are not empty", () => {
    for (const [key, text] of Object.entries(texts)) {
      expect([key, placeholders(text)]).toEqual([key, placeholders(en[key as keyof typeof en])]);
      expect(text).not.toBe("");
    }
  });
});

test("the language chosen goes before those of the browser, of which the first known one counts", () => {
  expect(languageFor("pt", ["it-IT"])).toBe("pt");
  expect(languageFor("", ["fr-FR", "es-AR", "it"])).toBe("es");
  expect(languageFor("", ["fr"])).toBe("en");
});

test("cards have names for people who hear them, in every language", () => {
  const names = (language: "en" | "it" | "pt" | "es") =>
    new PageTexts(language).cardNames([Card.SEVEN_OF_HEARTS, Card.JOKER]);
  expect(names("en")).toBe("seven of hearts, Joker");
  expect(names("it")).toBe("sette di cuori, Jolly");
});

test("what happened is heard with the names of cards, and seen with their faces", () => {
  const discarded = create(EventSchema, { event: { case: "discarded", value: { seat: 0, card: Card.KING_OF_CLUBS } } });
  const texts = new PageTexts("en");
  expect(texts.event(discarded, ["Ada"])).toBe("Ada discarded K♣");
  expect(texts.spoken.event(discarded, ["Ada"])).toBe("Ada discarded king of clubs");
});
