import { type DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";
import { Holdfast, mutex, semaphore } from "../../packages/holdfast/src/index.js";
import type { Ledger } from "./checks.js";
import type { Member } from "./member.js";

/** The time limit after the faults, for a worker to finish and for a lock to become free. */
const LIMIT_MS = 30_000;

/** What is left after the faults. */
export interface Remains {
  readonly members: readonly Member[];
  /** Connected to the table directly. */
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly names: readonly string[];
  /** The limit of the names, if they are semaphores. */
  readonly permits: number | undefined;
  readonly violate: (invariant: string, what: string) => void;
}

/** Expects all workers to finish and every name to be free; then reads the ledgers. */
export async function settle(remains: Remains): Promise<Ledger[]> {
  await allFinish(remains);
  await allAreFree(remains);
  return ledgersIn(remains);
}

async function allFinish({ members, violate }: Remains): Promise<void> {
  for (const member of members) member.calm();
  const finished = await Promise.all(members.map((member) => member.finish(LIMIT_MS)));
  for (const [place, isFinished] of finished.entries()) {
    const what = `${members[place]?.name} did not finish within ${LIMIT_MS} ms`;
    if (!isFinished) violate("progress", what);
  }
}

async function allAreFree({ client, table, names, permits, violate }: Remains): Promise<void> {
  const newcomer = new Holdfast({ client, table });
  for (const name of names) {
    const taken =
      permits === undefined
        ? mutex(newcomer, name).run({ wait: LIMIT_MS }, () => undefined)
        : semaphore(newcomer, name, { permits }).run(
            { wait: LIMIT_MS, weight: permits },
            () => undefined,
          );
    await taken.catch((error: unknown) =>
      violate("no orphan", `"${name}" could not be acquired: ${error}`),
    );
  }
  await newcomer.close();
}

async function ledgersIn({ client, table }: Remains): Promise<Ledger[]> {
  const found: Ledger[] = [];
  for await (const { Items } of paginateScan({ client }, { TableName: table })) {
    for (const { pk, entries } of Items ?? []) {
      const [kind, name] = pk?.S?.split("#") ?? [];
      if (kind !== "ledger" || name === undefined) continue;
      const lines = (entries?.L ?? []).map(({ S = "" }) => {
        const [fence = "", by = "", , weight] = S.split(" ");
        const weighed = weight === undefined ? {} : { weight: Number(weight) };
        return { by, fence: BigInt(fence), text: S, ...weighed };
      });
      found.push({ name, key: pk?.S ?? "", entries: lines });
    }
  }
  return found;
}
