import type { DriverName, LockDriverName } from "../../scripts/lib/interop-drivers.mjs";

/** What one test is in the table of what was run: a row, in the column of a client. */
export interface Seen {
  readonly format: DriverName;
  readonly driver: LockDriverName;
  readonly row: string;
  /** The client and its version, as its process says them. */
  client?: string;
  /** What the scene asks of others, and had nothing to ask here; each with why. */
  readonly leftOut: string[];
  /** What was measured. */
  figure?: string;
}

declare module "vitest" {
  interface TaskMeta {
    seen?: Seen;
  }
}
