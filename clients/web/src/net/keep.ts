/** What the page keeps in the browser: who the player is, the seats taken, and how the player likes the table. */

import type { HandOrder } from "@buraco/client";

export interface KeptPlayer {
  /** Empty where the service has no guests. */
  token: string;
  name: string;
  id: string;
}

export interface KeptSeat {
  /** What SeatSession.save gave. */
  saved: string;
  /** What the player added to the shuffles, in hexadecimal. */
  entropy: string;
  keptAt: number;
}

export interface Preferences {
  /** Empty: the browser's. */
  language: string;
  theme: "system" | "light" | "dark";
  fourColours: boolean;
  order: HandOrder;
}

const PLAYER = "buraco.player";
const SEAT = "buraco.seat.";
const CODE = "buraco.code.";
const PREFERENCES = "buraco.preferences";
const SEATS_KEPT = 50;

export const keptPlayer = () => read<KeptPlayer>(PLAYER);
export const keepPlayer = (player: KeptPlayer) => write(PLAYER, player);
export const forgetPlayer = () => localStorage.removeItem(PLAYER);

/** Return the seat taken at a table, in any tab. */
export const keptSeat = (table: string) => read<KeptSeat>(SEAT + table);
export const forgetSeat = (table: string) => localStorage.removeItem(SEAT + table);

/** Keep a seat; of many, the newest. */
export function keepSeat(table: string, saved: string, entropy: Uint8Array | undefined): void {
  const hex = entropy
    ? [...entropy].map((byte) => byte.toString(16).padStart(2, "0")).join("")
    : keptSeat(table)?.entropy;
  write(SEAT + table, { saved, entropy: hex ?? "", keptAt: Date.now() } satisfies KeptSeat);
  const all = Object.keys(localStorage).filter((key) => key.startsWith(SEAT));
  const age = (key: string) => read<KeptSeat>(key)?.keptAt ?? 0;
  all.sort((a, b) => age(b) - age(a));
  for (const key of all.slice(SEATS_KEPT)) localStorage.removeItem(key);
}

/** Return what the player added to the shuffles of a table; undefined for a seat that was not taken here. */
export function keptEntropy(table: string): Uint8Array | undefined {
  const hex = keptSeat(table)?.entropy;
  return hex ? Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)) : undefined;
}

/** The invitation code of a table that was created here, to be shown to its creator. */
export const keptCode = (table: string) => read<string>(CODE + table);
export const keepCode = (table: string, code: string) => write(CODE + table, code);

export function keptPreferences(): Preferences {
  return {
    language: "",
    theme: "system",
    fourColours: false,
    order: "suit",
    ...read<Partial<Preferences>>(PREFERENCES),
  };
}
export const keepPreferences = (preferences: Preferences) => write(PREFERENCES, preferences);

/** Call back when another tab takes or leaves the seat of a table; returns what ends it. */
export function onSeatKept(table: string, changed: () => void): () => void {
  const listen = (event: StorageEvent) => {
    const seatOf = (text: string | null) => (text ? (JSON.parse(text) as KeptSeat).saved : "");
    // A token that was renewed is of the same seat.
    if (event.key === SEAT + table && !event.newValue !== !event.oldValue) changed();
    else if (event.key === SEAT + table && seatNumber(seatOf(event.newValue)) !== seatNumber(seatOf(event.oldValue)))
      changed();
  };
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
}

function seatNumber(saved: string): number | undefined {
  return saved ? (JSON.parse(saved) as { seat?: number }).seat : undefined;
}

function read<T>(key: string): T | undefined {
  try {
    const text = localStorage.getItem(key);
    return text ? (JSON.parse(text) as T) : undefined;
  } catch {
    return undefined;
  }
}

function write(key: string, value: unknown): void {
  localStorage.setItem(key, JSON.stringify(value));
}
