import type { DriverName, LockDriverName } from "../../scripts/lib/interop-drivers.mjs";

/** One test in the table of results: a row, in the column of a client. */
export interface Seen {
  readonly format: DriverName;
  readonly driver: LockDriverName;
  readonly row: string;
  /** The client and the version, as reported by the process. */
  client?: string;
  /** Checks which the scene omitted, each with the reason. */
  readonly leftOut: string[];
  /** The measured figure. */
  figure?: string;
}

declare module "vitest" {
  interface TaskMeta {
    seen?: Seen;
  }
}
