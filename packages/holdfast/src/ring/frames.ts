/**
 * A frame: the version 1, the kind, and the token of a grant. All frames have one size, so none can be too long, and none
 * carries a name.
 */
export interface Frame {
  readonly kind: FrameKind;
  /** The token in base64url. */
  readonly token: string;
}

/**
 * From a waiter to a holder: `wait`, ring me when you release; `asked`, your record has a request. From a holder to a
 * waiter: `heard`, I will; `free`, released, and you are told first; `look`, released, and another is told first.
 */
export type FrameKind = "wait" | "asked" | "heard" | "free" | "look";

const KINDS: readonly FrameKind[] = ["wait", "asked", "heard", "free", "look"];
const VERSION = 1;
const HEADER_BYTES = 2;
export const TOKEN_BYTES = 24;
export const FRAME_BYTES = HEADER_BYTES + TOKEN_BYTES;

export function encodeFrame({ kind, token }: Frame): Uint8Array {
  const header = [VERSION, KINDS.indexOf(kind)];
  return Buffer.concat([Buffer.from(header), Buffer.from(token, "base64url")], FRAME_BYTES);
}

/** Returns undefined for bytes that are no frame of this version. */
export function decodeFrame(bytes: Uint8Array): Frame | undefined {
  const kind = KINDS[bytes[1] ?? -1];
  if (bytes.length !== FRAME_BYTES || bytes[0] !== VERSION || kind === undefined) return undefined;
  return { kind, token: Buffer.from(bytes.subarray(HEADER_BYTES)).toString("base64url") };
}
