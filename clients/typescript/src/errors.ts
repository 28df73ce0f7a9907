import { Code, ConnectError } from "@connectrpc/connect";
import { Violation } from "./generated/buraco/v1/move_pb.js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RetryInfoSchema,
} from "./generated/google/rpc/error_details_pb.js";

const DOMAIN = "buraco";

/** One thing wrong with a malformed request. */
export interface FieldViolation {
  /** The path of the field, such as `moves[0].discard.card`. */
  readonly field: string;
  /** What is wrong with it, such as "is not a card". */
  readonly description: string;
}

interface BuracoErrorParts {
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  readonly fieldViolations?: readonly FieldViolation[];
  readonly retryDelay?: number | undefined;
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A call that failed. Programs decide by `reason`, the stable name of the condition that the contract lists, and by
 * `code` where there is no reason; `Texts.reason` has a text for players.
 *
 * @example
 * try {
 *   await session.submit([move]);
 * } catch (error) {
 *   if (error instanceof BuracoError && error.violations.length > 0) show(texts.violation(error.violations[0]));
 *   else throw error;
 * }
 */
export class BuracoError extends Error {
  override readonly name = "BuracoError";
  readonly code: Code;
  /** The stable name of the condition; empty if the error does not come from the service itself. */
  readonly reason: string;
  /** For people, in English. */
  readonly description: string;
  /** Every dynamic part of the description. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The rules that the move breaks, the principal one first; those that this client does not know are left out. */
  readonly violations: readonly Violation[];
  /** What is wrong with the fields of a malformed request. */
  readonly fieldViolations: readonly FieldViolation[];
  /** Milliseconds after which to repeat the call; undefined if the service names no time. */
  readonly retryDelay: number | undefined;
  /** The id of a call that changes something: a repeat with it takes effect at most once. */
  readonly requestId: string | undefined;

  constructor(code: Code, description: string, parts: BuracoErrorParts = {}) {
    const name = parts.reason ? `${codeName(code)} ${parts.reason}` : codeName(code);
    super(description ? `${name}: ${description}` : name, { cause: parts.cause });
    this.code = code;
    this.description = description;
    this.reason = parts.reason ?? "";
    this.metadata = parts.metadata ?? {};
    this.violations = parts.violations ?? [];
    this.fieldViolations = parts.fieldViolations ?? [];
    this.retryDelay = parts.retryDelay;
    this.requestId = parts.requestId;
  }
}

/**
 * Return the name of a status code as gRPC has it.
 *
 * @example
 * codeName(Code.NotFound); // "NOT_FOUND"
 */
export function codeName(code: Code): string {
  if (code === Code.Canceled) return "CANCELLED";
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/** Return the error for whatever a call or stream has thrown, with the details that can be parsed. */
export function toBuracoError(thrown: unknown, requestId?: string): BuracoError {
  if (thrown instanceof BuracoError) return thrown;
  const error = ConnectError.from(thrown);
  const infos = error.findDetails(ErrorInfoSchema).filter((info) => info.domain === DOMAIN);
  const reason = infos[0]?.reason ?? "";
  const preconditions = error.findDetails(PreconditionFailureSchema).flatMap((failure) => failure.violations);
  const violations = [reason, ...preconditions.map((violation) => violation.type)].flatMap(violationOf);
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return new BuracoError(reason ? error.code : transportCode(error.code), error.rawMessage, {
    reason,
    metadata: infos[0]?.metadata ?? {},
    violations: [...new Set(violations)],
    fieldViolations: error
      .findDetails(BadRequestSchema)
      .flatMap((request) => request.fieldViolations)
      .map(({ field, description }) => ({ field, description })),
    retryDelay: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    requestId,
    cause: error,
  });
}

/**
 * Return the code of an error that has no reason, and so comes from the connection or a proxy. What browsers and Node
 * call a broken connection becomes UNAVAILABLE, as in gRPC: it can be repeated, since changes carry request ids.
 */
function transportCode(code: Code): Code {
  switch (code) {
    // CANCELLED: a replica that stops ends the calls that reach it too late.
    case Code.Canceled:
    case Code.Aborted:
    case Code.Internal:
    case Code.Unknown:
      return Code.Unavailable;
    default:
      return code;
  }
}

function violationOf(name: string): Violation[] {
  const value = Violation[name.replace(/^VIOLATION_/, "") as keyof typeof Violation];
  return value ? [value] : [];
}
