import type { DescEnum, Message } from "@bufbuild/protobuf";
import { cardSymbol } from "./cards.js";
import { type BuracoError, codeName } from "./errors.js";
import { Card } from "./generated/buraco/v1/card_pb.js";
import { EndingSchema, MeldKindSchema } from "./generated/buraco/v1/deal_pb.js";
import { type Event, MatchEnd } from "./generated/buraco/v1/event_pb.js";
import { type Move, type Violation, ViolationSchema } from "./generated/buraco/v1/move_pb.js";
import { TEXTS } from "./generated/texts.js";

/** A language that there are texts in. */
export type Language = keyof typeof TEXTS;

/** One text, or its plural forms `one` and `other`. */
type Text = string | { readonly one: string; readonly other: string };
type Values = Readonly<Record<string, unknown>>;

const DEFAULT: Language = "en";

/**
 * Return the languages that there are texts in: their codes and their own names.
 *
 * @example
 * languages(); // { en: "English", es: "Español", it: "Italiano", pt: "Português" }
 */
export function languages(): Record<Language, string> {
  const names = Object.entries(TEXTS).map(([code, texts]) => [code, texts.language]);
  return Object.fromEntries(names) as Record<Language, string>;
}

/**
 * The texts of one language. Where it lacks one, the English text is shown, and where that is missing, the key.
 *
 * @example
 * new Texts("it-IT").violation(Violation.PILE_EMPTY); // "Il monte degli scarti è vuoto."
 */
export class Texts {
  readonly language: Language;
  readonly #texts: Readonly<Record<string, Text>>;
  readonly #plurals: Intl.PluralRules;

  /** `language` is a tag such as `pt-BR`, of which the first part counts; English if there are no texts in it. */
  constructor(language: string) {
    const code = language.split(/[-_]/, 1)[0]?.toLowerCase() ?? "";
    this.language = Object.hasOwn(TEXTS, code) ? (code as Language) : DEFAULT;
    this.#texts = { ...TEXTS[DEFAULT], ...TEXTS[this.language] };
    this.#plurals = new Intl.PluralRules(this.language);
  }

  /**
   * Return the text of a key, with values for its placeholders; `count` chooses the plural form.
   *
   * @example
   * new Texts("en").text("event.took_pile", { player: "Ada", count: 7 }); // "Ada took the pile (7 cards)"
   */
  text(key: string, values: Values = {}): string {
    let text = this.#find(key);
    if (text === undefined) return key;
    if (typeof text !== "string") {
      const form = this.#plurals.select(Number(values.count));
      text = form === "one" ? text.one : text.other;
    }
    return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
  }

  /**
   * Return the text of a value of one of the contract's enums.
   *
   * @example
   * new Texts("pt").value(BuracoKindSchema, BuracoKind.CLEAN); // "canastra limpa"
   */
  value(schema: DescEnum, number: number): string {
    return this.text(`${groupOf(schema)}.${valueName(schema, number)}`);
  }

  /** Return why a move is illegal. */
  violation(violation: Violation): string {
    return this.value(ViolationSchema, violation);
  }

  /** Return why a call failed, by its reason; by its status code if it has none, or one without a text. */
  reason(error: BuracoError): string {
    const keys = [`violation.${error.reason}`, `reason.${error.reason}`, `code.${codeName(error.code)}`];
    return this.text(keys.find((key) => this.#find(key) !== undefined) ?? "code.UNKNOWN");
  }

  /** The phrases of the chat by their codes, in the order of a menu. */
  get phrases(): Readonly<Record<string, string>> {
    const keys = Object.keys(this.#texts).filter((key) => key.startsWith("phrase."));
    return Object.fromEntries(keys.map((key) => [key.slice("phrase.".length), this.text(key)]));
  }

  /**
   * Return the faces of cards.
   *
   * @example
   * new Texts("it").cards([Card.TEN_OF_SPADES, Card.JOKER]); // "10♠ Jolly"
   */
  cards(cards: Iterable<Card>): string {
    return Array.from(cards, (card) => (card === Card.JOKER ? this.text("card.JOKER") : cardSymbol(card))).join(" ");
  }

  /**
   * Return what a move does, as on a button; empty for a kind that this client does not know. Melds are counted from 1.
   *
   * @example
   * new Texts("en").move(layOff(0, [Card.FIVE_OF_HEARTS])); // "Lay off 5♥ on meld 1"
   */
  move(move: Move): string {
    const { case: kind, value } = move.move;
    if (kind === undefined) return "";
    const number = ("meld" in value ? value.meld : 0) + 1;
    return this.text(`move.${snakeCase(kind)}`, { ...this.#values(value), number });
  }

  /**
   * Return what happened, as in the log of a table; empty for an event that has nothing to show.
   *
   * `names` are those of the players, by seat; a seat without one is shown by its number, from 1.
   */
  event({ event }: Event, names: readonly string[] = []): string {
    const { case: kind, value } = event;
    if (kind === undefined || (kind === "tookRest" && value.count === 0)) return "";
    const values: Record<string, unknown> = this.#values(value);
    if (kind === "matchEnded") {
      const seats = Array.from({ length: Math.max(names.length, 2) }, (_, seat) => seat);
      const winners = seats.filter((seat) => seat % 2 === value.winner).map((seat) => this.#name(names, seat));
      values.players = winners.join(" & ");
      values.count = winners.length;
      values.score = value.scores.join(" : ");
    } else {
      const seat = "starter" in value ? value.starter : "seat" in value ? value.seat : undefined;
      values.player = values.player_name || this.#name(names, seat);
    }
    const key = `event.${snakeCase(kind)}`;
    const variant = variantOf(event);
    return this.text(variant && this.#find(`${key}.${variant}`) !== undefined ? `${key}.${variant}` : key, values);
  }

  #find(key: string): Text | undefined {
    return Object.hasOwn(this.#texts, key) ? this.#texts[key] : undefined;
  }

  /** Return the fields of a message by the names that placeholders have, cards as they are shown: its own, else its meld's. */
  #values(message: Message): Record<string, unknown> {
    const fields = Object.entries(message).filter(([name]) => !name.startsWith("$"));
    const values: Record<string, unknown> = Object.fromEntries(fields.map(([name, value]) => [snakeCase(name), value]));
    const { card, cards, meld } = values as { card?: Card; cards?: Card[]; meld?: { cards?: Card[] } };
    values.card = this.cards(card ? [card] : []);
    values.cards = this.cards((cards?.length ? cards : meld?.cards) ?? []);
    return values;
  }

  #name(names: readonly string[], seat: number | undefined): string {
    if (seat === undefined) return "";
    return names[seat] || this.text("seat", { number: seat + 1 });
  }
}

/** Return the part that the key of an event's text has more for what the event holds; empty without one. */
function variantOf(event: Event["event"]): string {
  switch (event.case) {
    case "drew":
      return event.value.card ? "card" : "";
    case "melded":
      return valueName(MeldKindSchema, event.value.meld?.kind ?? 0);
    case "potTaken":
      return event.value.inFlight ? "in_flight" : "";
    case "dealEnded":
      return valueName(EndingSchema, event.value.ending);
    case "matchEnded":
      if (event.value.winner !== undefined) return "";
      return event.value.how === MatchEnd.ABORTED ? "aborted" : "draw";
    case "seatChanged":
      if (event.value.playerName) return "";
      return event.value.removed ? "removed" : "left";
    case "turnTimedOut":
      return event.value.absent ? "absent" : "";
    case "resigned":
      return event.value.pending ? "pending" : "";
    default:
      return "";
  }
}

function groupOf(schema: DescEnum): string {
  return (schema.values[0]?.name ?? "")
    .replace(/UNSPECIFIED$/, "")
    .toLowerCase()
    .replace(/_$/, "");
}

function valueName(schema: DescEnum, number: number): string {
  const prefix = (schema.values[0]?.name ?? "").replace(/UNSPECIFIED$/, "");
  const name = schema.value[number]?.name ?? String(number);
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
