/** What the creator of a table chooses, as the options of the contract. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  AbsencePolicy,
  ChatMode,
  SpectatorPolicy,
  TableAccess,
  type TableOptionsSchema,
} from "@buraco/client/messages";
import levels from "./levels.json";
import type { PageKey, PageTexts } from "./texts";

/** The levels of bots that the page offers, the weakest first. `make play` runs a bot of each. */
export const LEVELS: readonly string[] = levels.offered;
/** The level that is chosen at first. `make play` fills free seats with bots of it. */
export const DEFAULT_LEVEL: string = levels.default;

/** Return a level with how its bot plays: "random: any legal move, by chance". */
export function describeLevel(level: string, texts: PageTexts): string {
  return `${level}: ${texts.t(`level.${level}` as PageKey)}`;
}

export interface Chosen {
  seats: number;
  access: TableAccess;
  players: string;
  spectators: SpectatorPolicy;
  delay: number;
  turn: number;
  reserve: number;
  confirmation: number;
  chat: ChatMode;
  /** The levels of the bots that seats are kept for. */
  bots: readonly string[];
  absence: AbsencePolicy;
  /** Seconds without a connection after which a player is absent; 0: however long. */
  absentAfter: number;
  /** The level of the bot that plays for an absent player. */
  substitute: string;
}

/** Return whether players can be absent at the table. */
export function canBeAbsent({ turn, absentAfter }: Pick<Chosen, "turn" | "absentAfter">): boolean {
  return turn > 0 || absentAfter > 0;
}

/** Return the options of a table; what is left at its default is absent, which every service understands. */
export function optionsOf(chosen: Chosen): MessageInitShape<typeof TableOptionsSchema> {
  const time = (seconds: number) => (seconds > 0 ? durationFromMs(seconds * 1000) : undefined);
  const substitutes = canBeAbsent(chosen) && chosen.absence === AbsencePolicy.BOT;
  // Bots sit down from the last seat on, so that the creator and the next player are partners.
  const order = chosen.seats === 4 ? [1, 3, 2] : [1];
  return {
    access: chosen.access === TableAccess.PUBLIC ? 0 : chosen.access,
    playerIds: chosen.access === TableAccess.PLAYERS ? chosen.players.split(/[\s,;]+/).filter(Boolean) : [],
    spectators: chosen.spectators === SpectatorPolicy.ALLOWED ? 0 : chosen.spectators,
    spectatorDelay: chosen.spectators === SpectatorPolicy.ALLOWED ? time(chosen.delay) : undefined,
    turnTime: time(chosen.turn),
    reserveTime: chosen.turn > 0 ? time(chosen.reserve) : undefined,
    confirmationTime: time(chosen.confirmation),
    chat: chosen.chat === ChatMode.ALL ? 0 : chosen.chat,
    bots: chosen.bots
      .map((level, index) => ({ seat: order[index] ?? 0, level }))
      .sort((one, other) => one.seat - other.seat),
    absence: substitutes ? AbsencePolicy.BOT : 0,
    absentAfter: time(chosen.absentAfter),
    substituteLevel: substitutes ? chosen.substitute : "",
  };
}
