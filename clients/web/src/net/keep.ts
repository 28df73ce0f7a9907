/** What the page keeps in the browser: who the player is, the seats taken, and how the player likes the table. */

export interface KeptPlayer {
  token: string;
  name: string;
  /** Empty for a host's token: the service reads the id from it. */
  id: string;
}

export interface KeptSeat {
  seat: number;
  token: string;
  /** Milliseconds since 1970. */
  obtainedAt: number;
  expiresAt: number;
}

export interface Preferences {
  language: string;
  theme: "system" | "light" | "dark";
  fourColours: boolean;
  order: "suit" | "rank" | "melds";
}

const PLAYER = "buraco.player";
const SEAT = "buraco.seat.";
const CODE = "buraco.code.";
const PREFERENCES = "buraco.preferences";
const SEATS_KEPT = 50;

/** Return the player that is signed in here. */
export const keptPlayer = () => read<KeptPlayer>(PLAYER);
export const keepPlayer = (player: KeptPlayer) => write(PLAYER, player);
export const forgetPlayer = () => localStorage.removeItem(PLAYER);

/** Return the seat taken at a table, from any tab. */
export const keptSeat = (table: string) => read<KeptSeat>(SEAT + table);
export const forgetSeat = (table: string) => localStorage.removeItem(SEAT + table);

/** Keep a seat; of many, the newest. */
export function keepSeat(table: string, seat: KeptSeat): void {
  write(SEAT + table, seat);
  const all = Object.keys(localStorage).filter((key) => key.startsWith(SEAT));
  const age = (key: string) => read<KeptSeat>(key)?.obtainedAt ?? 0;
  all.sort((a, b) => age(b) - age(a));
  for (const key of all.slice(SEATS_KEPT)) localStorage.removeItem(key);
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

/** Call back when another tab takes or leaves a seat of the table; returns what ends it. */
export function onSeatKept(table: string, changed: () => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key === SEAT + table) changed();
  };
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
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
