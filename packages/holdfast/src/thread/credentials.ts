/** Credentials of AWS, as the SDK's providers return them. */
export interface SentCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly expiration?: Date | undefined;
}

// The SDK refreshes credentials before they expire, so the main thread normally sends new ones before this.
const MARGIN_MS = 60_000;

/**
 * Decides which credentials the thread uses: those of the main thread, or its own after the main thread's have expired,
 * as in a blocked event loop that refreshes nothing. Pure.
 */
export function sourceOf(sent: SentCredentials | undefined, wallMs: number): "sent" | "own" {
  if (sent === undefined) return "own";
  if (sent.expiration === undefined) return "sent";
  return wallMs < sent.expiration.getTime() - MARGIN_MS ? "sent" : "own";
}
