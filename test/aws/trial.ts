import { expect } from "vitest";
import type { PolicyFeature } from "../../src/table/index.js";
import type { Resource } from "../../verification/aws/ledger.js";
import { type Command, main } from "../../verification/aws/main.js";
import { settingsOf } from "../../verification/aws/options.js";
import { planOf } from "../../verification/aws/plan.js";
import type { Finding, RunSuite } from "../../verification/aws/scene.js";
import { FakeAws } from "./fake-aws.js";

/** The result of a call of the command. */
export interface Trial {
  readonly status: number;
  readonly findings: readonly Finding[];
  readonly summary: Readonly<Record<string, unknown>>;
  readonly notes: string;
  readonly aws: FakeAws;
  /** The listed resources at the end. */
  readonly listed: readonly Resource[];
}

export interface TrialOptions {
  readonly aws?: FakeAws;
  readonly answer?: string | undefined;
  readonly isConfirmed?: boolean;
  readonly features?: readonly PolicyFeature[];
  readonly runSuite?: RunSuite;
  readonly onExit?: () => void;
  readonly lists?: Map<string, readonly Resource[]>;
  /** Receives the function that interrupts the run. */
  readonly interrupting?: (interrupt: () => void) => void;
}

const PASSED: RunSuite = async () => ({ passed: 1, failed: [] });

/** Calls the command on an account in memory. */
export async function tryOut(args: string, options: TrialOptions = {}): Promise<Trial> {
  const { aws = new FakeAws(), lists = new Map<string, readonly Resource[]>() } = options;
  const notes: string[] = [];
  const printed: string[] = [];
  const { answer } = options;
  const command: Command = {
    args: [
      ...["--region", "us-east-1", "--endpoint", "http://memory.invalid", "--json"],
      ...(options.isConfirmed === false ? [] : ["--yes"]),
      ...args.split(" ").filter((word) => word !== ""),
    ],
    aws: async () => aws,
    runSuite: options.runSuite ?? PASSED,
    store: {
      save: (run, resources) => void lists.set(run, resources),
      load: (run) => lists.get(run),
    },
    versions: {},
    ask: answer === undefined ? undefined : async () => answer,
    note: (text) => void notes.push(text),
    print: (text) => void printed.push(text),
    onInterrupt: (listener) => {
      options.interrupting?.(listener);
      return () => undefined;
    },
    exit: () => options.onExit?.(),
    retryMs: 1,
    features: options.features ?? [],
  };
  const status = await main(command);
  const settings = status === 2 ? "help" : settingsOf(command.args);
  const lines = printed
    .join("\n")
    .split("\n")
    .filter((line) => line.startsWith("{"));
  const parsed = lines.map((line) => JSON.parse(line));
  const { brokenOff, usd } = parsed.at(-1) ?? {};
  // The plan states the highest expected cost.
  if (settings !== "help" && brokenOff === undefined && usd !== undefined) {
    expect(usd).toBeLessThanOrEqual(planOf(settings).usd);
  }
  return {
    status,
    findings: parsed.slice(0, -1),
    summary: parsed.at(-1) ?? {},
    notes: notes.join("\n"),
    aws,
    listed: [...lists.values()].flat(),
  };
}

/** The findings of this level, in short. */
export function checksOf({ findings }: Trial, level: Finding["level"]): string[] {
  return findings
    .filter((one) => one.level === level)
    .map(({ part, check }) => `${part}: ${check}`);
}

/** The message of one check. Fails if there is no such check. */
export function messageOf({ findings }: Trial, check: string): string {
  const found = findings.find((one) => one.check === check);
  expect(found, check).toBeDefined();
  return found?.message ?? "";
}

/** Fails if the account still has a resource of the run. */
export function expectNothingLeft({ aws, listed, notes }: Trial): void {
  expect(aws.requests.length).toBeGreaterThan(0);
  expect({ tables: aws.tables(), buckets: aws.s3Store.buckets, roles: [...aws.roles] }).toEqual({
    tables: [],
    buckets: [],
    roles: [],
  });
  expect(listed).toEqual([]);
  expect(notes).toContain("All resources of the run are removed.");
}
