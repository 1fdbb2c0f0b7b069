import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import {
  causeText,
  type Item,
  type Refusal,
  systemRandom,
  type TransactionAnswer,
  type Write,
} from "holdfast/internal";
import { type EngineFinding, failed, passed } from "./finding.js";
import { holderIn, type Probe, type ProbePlace } from "./probe.js";
import { raceMultiClaims } from "./race.js";

const REFUSED =
  "Refused here, with an error: several locks at once, and conditions of leases and terms in your transactions. " +
  "Other locks work, and a waiter joins a queue more slowly.";
const TORN = "Several locks at once can be granted in part. Use none on this engine.";

/** Commits and cancels transactions, repeats one by its token, guards one by a condition, and races many. */
export async function checkTransactions(
  probe: Probe,
  options: Pick<ProbePlace, "client" | "table">,
): Promise<EngineFinding[]> {
  const refs = [probe.record("together-a"), probe.record("together-b")] as const;
  const first = probe.grant();
  const claims = { writes: refs.map((ref) => probe.claim(ref, first)), token: first.holder };
  const answer = await probe.transact(claims);
  const found = () => Promise.all(refs.map(async (ref) => probe.read(ref)));
  if (answer.kind !== "applied") return [notApplied(answer)];
  const items = await found();
  if (items.some((item) => holderIn(item) !== first.holder)) {
    return [failed("transactions", "A transaction was answered, but not applied.", TORN)];
  }

  // The first write is possible, the second is not: none may be applied.
  const rival = probe.grant();
  const writes = [probe.takeOver(refs[0], rival, items[0] ?? {}), probe.claim(refs[1], rival)];
  const cancelled = await probe.transact({ writes, token: rival.holder });
  const fault = faultIn(cancelled, items, await found());
  if (fault !== undefined) return [fault];

  const good = "Transactions are applied as a whole or not at all, and a refusal shows the items.";
  return [
    passed("transactions", good),
    await checkToken(probe, claims.token, claims.writes, items[0] ?? {}),
    await checkConditionChecks(probe, options),
    await raceMultiClaims(probe),
  ];
}

function notApplied(answer: TransactionAnswer): EngineFinding {
  const why = answer.kind === "misconfigured" ? causeText(answer.error.cause) : ` (${answer.kind})`;
  return failed("transactions", `The engine applied no transaction${why}.`, REFUSED);
}

/** Judges a cancelled transaction whose second condition was false. */
function faultIn(
  answer: TransactionAnswer,
  before: readonly (Item | undefined)[],
  after: readonly (Item | undefined)[],
): EngineFinding | undefined {
  if (after.some((item, at) => holderIn(item) !== holderIn(before[at]))) {
    return failed(
      "transactions",
      "A transaction with a false condition was applied in part.",
      TORN,
    );
  }
  if (answer.kind !== "refused") {
    const message = `A transaction with a false condition was answered as ${answer.kind}, without reasons.`;
    return failed("transactions", message, SILENT);
  }
  const [first, second]: readonly (Refusal | undefined)[] = answer.refusals;
  if (answer.isReadLater !== true && first !== undefined) {
    return failed("transactions", "The reasons of a cancellation are in another order.", SILENT);
  }
  if (holderIn(second?.item) === holderIn(before[1])) return undefined;
  return failed("transactions", "The reasons of a cancellation do not show the items.", SILENT);
}

const SILENT = "A client cannot see which of several locks is held, nor recognise its own grant.";

/** Repeats an applied transaction after its items have changed: the token must keep it from being applied again. */
async function checkToken(
  probe: Probe,
  token: string,
  writes: readonly Write[],
  item: Item,
): Promise<EngineFinding> {
  const ref = probe.record("together-a");
  const later = await probe.settle(probe.takeOver(ref, probe.grant(), item));
  const repeated = await probe.transact({ writes, token });
  const holder = holderIn(await probe.read(ref));
  if (later.kind === "refused" || holder !== holderIn(later.item)) {
    return failed("tokens", "A repeated transaction replaced a later write.", TORN);
  }
  if (repeated.kind === "applied") {
    return passed("tokens", "A repeated transaction is recognised by its token.");
  }
  return {
    check: "tokens",
    level: "warning",
    message: "The engine does not recognise a repeated transaction by its token.",
    consequence:
      "After a lost answer a client recognises a grant of several locks only while it holds all of them.",
  };
}

/** Sends a condition of a lease in a transaction, as users do: it must guard the other writes. */
async function checkConditionChecks(
  probe: Probe,
  { client, table }: Pick<ProbePlace, "client" | "table">,
): Promise<EngineFinding> {
  const [ref, work] = [probe.record("guarded"), probe.record("guarded-work")];
  const item = await probe.claimed(ref);
  const commit = async (holder: string): Promise<boolean> => {
    const check = {
      TableName: table,
      Key: ref.key,
      ConditionExpression: "#h = :h",
      ExpressionAttributeNames: { "#h": "holder" },
      ExpressionAttributeValues: { ":h": { S: holder } },
    };
    const put = { TableName: table, Item: { ...item, ...work.key, holder: { S: holder } } };
    const elements = [{ ConditionCheck: check }, { Put: put }] as never;
    probe.countRequest();
    const command = new TransactWriteItemsCommand({ TransactItems: elements });
    return client.send(command as never).then(
      () => true,
      () => false,
    );
  };
  const wasCommitted = await commit(systemRandom.id());
  if (wasCommitted || (await probe.read(work)) !== undefined) {
    const message = "A transaction was applied although its ConditionCheck was false.";
    return failed("condition-checks", message, UNGUARDED);
  }
  if ((await commit(holderIn(item) ?? "")) && (await probe.read(work)) !== undefined) {
    return passed("condition-checks", "A ConditionCheck guards the writes of its transaction.");
  }
  const message = "A transaction was refused although its ConditionCheck was true.";
  return failed("condition-checks", message, REFUSED);
}

const UNGUARDED = "`lease.condition()` guards nothing: a former holder can still write.";
