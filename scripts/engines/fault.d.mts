import type { EngineResult } from "./table.mjs";

/** What `engines.mjs` expects of an engine. */
export interface ExpectedEngine {
  readonly isRequired: boolean;
  readonly isFit?: boolean;
  readonly differs?: readonly string[];
}

export function faultOf(engine: ExpectedEngine, result: EngineResult): string | undefined;
