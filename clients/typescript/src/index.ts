/**
 * A typed client of the Buraco service, for browsers and Node; start with {@link createBuracoClient}.
 *
 * Requests and answers are the generated messages of `@buraco/client/messages`; this package adds deadlines, safe
 * repeats, watches that resume by themselves, errors with reasons, and what a frontend needs around cards and texts.
 *
 * @module
 */
export { type Backoff, DEFAULT_BACKOFF } from "./backoff.js";
export { movesFor, pickable, type WildPlace, wildPlace } from "./card-picking.js";
export { cardSymbol, formatCard, isRed, isWild, parseCard, rankOf, suitOf } from "./cards.js";
export {
  BuracoClient,
  type ClientOptions,
  type CreatedTable,
  createBuracoClient,
  type GuestSignIn,
  type JoinOptions,
  type ListTablesOptions,
  type QuickJoinOptions,
  type TableSettings,
} from "./client.js";
export { BuracoError, type FieldViolation } from "./errors.js";
export { type DealCheck, type DealtCards, dealCards, type KnownOfDeal, mixSeed, verifyDeal } from "./fairness.js";
export { type HandOrder, sortHand } from "./hand-order.js";
export { discard, drawStock, layMeld, layOff, moveWild, takePile } from "./moves.js";
export { type ChatContent, type MoveOptions, SeatSession } from "./seat-session.js";
export { type Language, languages, Texts } from "./texts.js";
export { type CallOptions, type ChangeOptions, newRequestId } from "./unary.js";
export type { ConnectionState, Update } from "./update.js";
export { Watch, type WatchOptions } from "./watch.js";
