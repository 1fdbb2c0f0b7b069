/** The tests of a suite on an engine. */
export interface SuiteResult {
  readonly passed: number;
  readonly failed: readonly { readonly file: string; readonly title: string }[];
}

/** The result of an engine. `missing`: why the engine is not installed. */
export interface EngineResult {
  readonly name: string;
  readonly seconds: number;
  readonly missing?: string;
  readonly version?: string;
  readonly diagnosis?: {
    readonly isFit: boolean;
    readonly isCreated: boolean;
    readonly problems: readonly string[];
    readonly findings: readonly {
      readonly check: string;
      readonly level: string;
      readonly message: string;
      readonly consequence?: string;
    }[];
  };
  readonly conformance?: SuiteResult;
  readonly processes?: SuiteResult;
}

export function summaryOf(result: EngineResult): string;
export function tableOf(results: readonly EngineResult[]): string;
export function pageWith(page: string, made: string, table: string): string;
