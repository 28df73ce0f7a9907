/** What the page shows, in the player's language: the texts shared by all frontends, and those of this page's interface. */

import en from "../../../texts/en.json";
import pageEn from "../i18n/en.json";
import type { Failure } from "../net/errors";
import { BuracoKind, Ending, type Event, MatchEnd, MeldKind, type Move } from "../net/wire";
import { faceText, JOKER, rankText, SUITS, suitOf } from "./cards";

export const LANGUAGES = { en: "English", it: "Italiano", pt: "Português", es: "Español" } as const;
export type Language = keyof typeof LANGUAGES;
export type PageKey = keyof typeof pageEn;

type Text = string | { one: string; other: string };
type Values = Record<string, unknown>;

const LOAD: Record<Language, () => Promise<[Record<string, Text>, Record<string, string>]>> = {
  en: async () => [en, pageEn],
  it: async () => [
    (await import("../../../texts/it.json")).default,
    (await import("../i18n/it.json")).default,
  ],
  pt: async () => [
    (await import("../../../texts/pt.json")).default,
    (await import("../i18n/pt.json")).default,
  ],
  es: async () => [
    (await import("../../../texts/es.json")).default,
    (await import("../i18n/es.json")).default,
  ],
};

/** Return the language to begin with: the one chosen, else the browser's, else English. */
export function languageFor(chosen: string, wanted: readonly string[] = navigator.languages): Language {
  const codes = [chosen, ...wanted.map((tag) => tag.split("-")[0]!.toLowerCase())];
  return (codes.find((code) => code in LANGUAGES) as Language | undefined) ?? "en";
}

/** Load the texts of a language; English where one is missing. */
export async function loadTexts(language: Language): Promise<Texts> {
  const [shared, page] = await LOAD[language]();
  return new Texts(language, { ...en, ...shared }, { ...pageEn, ...page });
}

export class Texts {
  readonly #plurals: Intl.PluralRules;

  constructor(
    readonly language: Language,
    private readonly shared: Record<string, Text>,
    private readonly page: Record<string, string>,
  ) {
    this.#plurals = new Intl.PluralRules(language);
  }

  /** Return a text of the page's interface. */
  t(key: PageKey, values: Values = {}): string {
    return filled(this.page[key] ?? key, values);
  }

  /** Return a shared text; `count` among the values chooses the plural form. */
  text(key: string, values: Values = {}): string {
    const text = this.shared[key];
    if (text === undefined) return key;
    if (typeof text === "string") return filled(text, values);
    return filled(this.#plurals.select(Number(values.count)) === "one" ? text.one : text.other, values);
  }

  has(key: string): boolean {
    return key in this.shared;
  }

  /** Return the name of a card for people who hear it: "seven of hearts". */
  cardName(card: number): string {
    if (card === JOKER) return this.text("card.JOKER");
    const rank = this.page[`rank.${rankText(card)}` as PageKey] ?? rankText(card);
    return this.t("card.name", { rank, suit: this.t(`suit.${SUITS[suitOf(card)]!}`) });
  }

  cardNames(cards: readonly number[]): string {
    return cards.map((card) => this.cardName(card)).join(", ");
  }

  /** Return the faces of cards: "10♠ K♥". */
  cards(cards: readonly number[]): string {
    return cards.map((card) => (card === JOKER ? this.text("card.JOKER") : faceText(card))).join(" ");
  }

  /** Return why a call failed. */
  failure({ code, reason }: Failure): string {
    const key = [`violation.${reason}`, `reason.${reason}`, `code.${code}`].find(
      (name) => name in this.shared,
    );
    return this.text(key ?? "code.UNKNOWN");
  }

  /** Return what a move does, as on a button. */
  move(move: Move): string {
    const made = move.move;
    if (!made.case) return "";
    const meld = "meld" in made.value ? made.value.meld : 0;
    return this.text(`move.${snake(made.case)}`, { ...this.#values(made.value), number: meld + 1 });
  }

  /**
   * Return what happened, as in the log; empty for what has nothing to show. Names are those at the seats. `spoken` names
   * cards for people who hear them.
   */
  event(event: Event, names: readonly string[], spoken = false): string {
    const { case: kind, value } = event.event;
    if (!kind || (kind === "tookRest" && value.count === 0)) return "";
    const values: Values = this.#values(value, spoken);
    if (kind === "matchEnded") {
      const winners = names.filter((_, seat) => seat % 2 === value.winner);
      values.players = winners.join(" & ");
      values.count = winners.length;
      values.score = value.scores.join(" : ");
    } else {
      const seat = "starter" in value ? value.starter : "seat" in value ? value.seat : undefined;
      values.player =
        ("playerName" in value && value.playerName) ||
        (seat === undefined ? "" : names[seat] || this.seat(seat));
    }
    const key = `event.${snake(kind)}`;
    const variant = `${key}.${variantOf(event)}`;
    return this.text(this.has(variant) ? variant : key, values);
  }

  /** Return the name of a seat without a player. */
  seat(seat: number): string {
    return this.text("seat", { number: seat + 1 });
  }

  /** The phrases of the chat: codes and texts, in the order of a menu. */
  get phrases(): [string, string][] {
    const keys = Object.keys(this.shared).filter((key) => key.startsWith("phrase."));
    return keys.map((key) => [key.slice("phrase.".length), this.text(key)]);
  }

  buraco(kind: BuracoKind): string {
    return this.text(`buraco_kind.${BuracoKind[kind]}`);
  }

  #values(value: object, spoken = false): Values {
    const write = (cards: readonly number[]) => (spoken ? this.cardNames(cards) : this.cards(cards));
    const values: Values = {};
    for (const [name, field] of Object.entries(value)) values[snake(name)] = field;
    const own =
      "cards" in value && Array.isArray(value.cards) && value.cards.length > 0 ? value.cards : undefined;
    const melded = "meld" in value && value.meld && typeof value.meld === "object" && "cards" in value.meld;
    const cards = own ?? (melded ? (value.meld as { cards: number[] }).cards : []);
    values.cards = write(cards as number[]);
    values.card = "card" in value && value.card ? write([value.card as number]) : "";
    return values;
  }
}

function variantOf({ event }: Event): string {
  switch (event.case) {
    case "drew":
      return event.value.card ? "card" : "";
    case "melded":
      return MeldKind[event.value.meld?.kind ?? MeldKind.UNSPECIFIED];
    case "potTaken":
      return event.value.inFlight ? "in_flight" : "";
    case "dealEnded":
      return Ending[event.value.ending];
    case "matchEnded":
      return event.value.winner !== undefined
        ? ""
        : event.value.how === MatchEnd.ABORTED
          ? "aborted"
          : "draw";
    case "seatChanged":
      return event.value.playerName ? "" : "left";
    case "turnTimedOut":
      return event.value.absent ? "absent" : "";
    case "resigned":
      return event.value.pending ? "pending" : "";
    default:
      return "";
  }
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function filled(text: string, values: Values): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}
