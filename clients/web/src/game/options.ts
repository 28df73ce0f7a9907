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
  bots: number;
  level: string;
  absence: AbsencePolicy;
}

/** Return the options of a table; what is left at its default is absent, which every service understands. */
export function optionsOf(chosen: Chosen): MessageInitShape<typeof TableOptionsSchema> {
  const time = (seconds: number) => (seconds > 0 ? durationFromMs(seconds * 1000) : undefined);
  const substitutes = chosen.turn > 0 && chosen.absence === AbsencePolicy.BOT;
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
    bots: order
      .slice(0, chosen.bots)
      .sort()
      .map((seat) => ({ seat, level: chosen.level })),
    absence: substitutes ? AbsencePolicy.BOT : 0,
    substituteLevel: substitutes ? chosen.level : "",
  };
}
