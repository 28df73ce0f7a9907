/** Why a call failed, as the service reports it. */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

/** A failed call: its status code by name, and the stable reason where the service gave one. */
export interface Failure {
  code: string;
  reason: string;
}

/** Return what is known of a failure. */
export function failureOf(thrown: unknown): Failure {
  const error = ConnectError.from(thrown);
  let reason = "";
  for (const detail of error.details) {
    if ("type" in detail && detail.type === "google.rpc.ErrorInfo") reason = readReason(detail.value);
  }
  return { code: codeName(error.code), reason };
}

/** Whether the service does not know the call: the feature is to be hidden. */
export function isUnimplemented(thrown: unknown): boolean {
  return ConnectError.from(thrown).code === Code.Unimplemented;
}

function codeName(code: Code): string {
  return (Code[code] ?? "Unknown")
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toUpperCase()
    .replace("CANCELED", "CANCELLED");
}

/** Read the field `reason` of a google.rpc.ErrorInfo, which the contract does not import. */
function readReason(bytes: Uint8Array): string {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1 && wire === WireType.LengthDelimited) return reader.string();
    reader.skip(wire);
  }
  return "";
}
