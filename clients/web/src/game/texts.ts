/** What the page shows, in the player's language: the texts shared by all frontends, and those of this page's interface. */

import { type Language, languages, suitOf, Texts } from "@buraco/client";
import { type BuracoKind, BuracoKindSchema, Card } from "@buraco/client/messages";
import en from "../i18n/en.json";
import es from "../i18n/es.json";
import it from "../i18n/it.json";
import pt from "../i18n/pt.json";
import { rankText, SUIT_NAMES } from "./cards";

export type PageKey = keyof typeof en;

const PAGE: Record<Language, Record<PageKey, string>> = { en, it, pt, es };

/** Return the language to begin with: the one chosen, else the browser's, else English. */
export function languageFor(chosen: string, wanted: readonly string[] = navigator.languages): Language {
  const codes = [chosen, ...wanted.map((tag) => tag.slice(0, 2).toLowerCase())];
  return (codes.find((code) => code in languages()) as Language | undefined) ?? "en";
}

export class PageTexts extends Texts {
  /** The same texts with cards by name, for people who hear them. */
  readonly spoken: Texts;
  readonly #page: Record<PageKey, string>;

  constructor(override readonly language: Language) {
    super(language);
    this.#page = PAGE[language];
    this.spoken = new SpokenTexts(this);
  }

  /** Return a text of the page's interface. */
  t(key: PageKey, values: Readonly<Record<string, string | number>> = {}): string {
    return this.#page[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
  }

  /** Return the name of a card for people who hear it: "seven of hearts". */
  cardName(card: Card): string {
    if (card === Card.JOKER) return this.text("card.JOKER");
    const rank = this.t(`rank.${rankText(card)}` as PageKey);
    const suit = this.t(`suit.${SUIT_NAMES[suitOf(card)]}` as PageKey);
    return this.t("card.name", { rank, suit });
  }

  cardNames(cards: Iterable<Card>): string {
    return [...cards].map((card) => this.cardName(card)).join(", ");
  }

  /** Return the name of a seat without a player. */
  seat(seat: number): string {
    return this.text("seat", { number: seat + 1 });
  }

  buraco(kind: BuracoKind): string {
    return this.value(BuracoKindSchema, kind);
  }
}

class SpokenTexts extends Texts {
  constructor(private readonly page: PageTexts) {
    super(page.language);
  }

  override cards(cards: Iterable<Card>): string {
    return this.page.cardNames(cards);
  }
}
