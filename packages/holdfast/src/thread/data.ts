import type { ThreadStart } from "../core/session/thread-messages.js";
import type { NativeKeys } from "../native/native.js";
import type { SentCredentials } from "./credentials.js";

/** Where the thread gets the client from: a module, or a configuration. */
export type ClientSource =
  | { readonly kind: "module"; readonly url: string }
  | {
      readonly kind: "configuration";
      readonly endpoint: string;
      readonly region: string;
      readonly credentials: SentCredentials | undefined;
    };

/** The data that a thread starts with. */
export interface ThreadData {
  readonly isHoldfast: true;
  readonly start: ThreadStart;
  readonly table: string;
  readonly keys: NativeKeys;
  readonly client: ClientSource;
}
