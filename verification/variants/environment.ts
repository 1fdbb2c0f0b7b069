import { GrantWrite } from "../../packages/holdfast/src/core/acquire/grant.js";
import { GrantRetry } from "../../packages/holdfast/src/core/acquire/grant-retry.js";
import { AcquireLoop } from "../../packages/holdfast/src/core/acquire/loop.js";
import { ClientContext } from "../../packages/holdfast/src/core/context.js";
import { Observations } from "../../packages/holdfast/src/core/record/observation.js";
import { RenewalScheduler } from "../../packages/holdfast/src/core/scheduler.js";
import { TableAccess } from "../../packages/holdfast/src/core/table-access.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { expiresAt } from "../../packages/holdfast/src/native/native-conditions.js";
import { Bounds } from "../../packages/holdfast/src/platform/bounded.js";
import { answerOf, isUnreadRefusal } from "../../packages/holdfast/src/platform/dynamodb/errors.js";
import { writeInput } from "../../packages/holdfast/src/platform/dynamodb/inputs.js";
import { senderOver } from "../../packages/holdfast/src/platform/dynamodb/sdk.js";
import { DynamoDBTable } from "../../packages/holdfast/src/platform/dynamodb/table.js";
import { unreadIn } from "../../packages/holdfast/src/platform/dynamodb/unread-refusal.js";
import { systemTimers } from "../../packages/holdfast/src/platform/timers.js";
import { MemoryTable } from "../../packages/testing/src/table/memory-table.js";
import type { Variant } from "./variant.js";

/** Defects around the core: the layout, TTL, requests, timers, and the table itself. */
export const SURROUNDINGS: readonly Variant[] = [
  {
    name: "last-writer-wins",
    what: "The table, not the core, is at fault: a lagging replica judges conditions, and the last writer wins.",
    rules: [],
    edits: [
      {
        in: { MemoryTable },
        from: "    const before = this.item(write.key);\n    if (!holds",
        to: "    const before = this.#items.asOf(write.key, this.#nowMs() - 100);\n    if (!holds",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "unknown-layout-claimed",
    what: "A claim does not require the layout.",
    rules: ["R12"],
    edits: [{ in: { nativeFormat }, from: 'FREE = all(equals("v", n(1n)),', to: "FREE = all(" }],
    caughtBy: {
      test: "packages/holdfast/test/native/native.test.ts",
      title: "refuses every claim: %s",
    },
  },
  {
    name: "ticket-in-unreadable-record",
    what: "A waiter takes a ticket in a free record that names a session.",
    rules: ["R12"],
    edits: [
      {
        in: { nativeFormat },
        from: "condition: READABLE, change: { set: { tail }",
        to: "condition: KNOWN, change: { set: { tail }",
      },
    ],
    caughtBy: { invariant: "unreadable record", within: 150, of: "tampered world" },
  },
  {
    name: "session-claimed",
    what: "A claim does not require a record without a session.",
    rules: ["R12"],
    edits: [
      {
        in: { nativeFormat },
        from: '  isAbsent("holder"),\n  NO_SESSION,\n',
        to: '  isAbsent("holder"),\n',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/native/native.test.ts",
      title: "refuses every claim: %s",
    },
  },
  {
    name: "unknown-layout-read",
    what: "The client reads a record of a newer layout as if it knew the layout.",
    rules: ["R12"],
    edits: [
      {
        in: { nativeFormat },
        from: "if (layout !== 1n) return",
        to: "if (layout < 1n) return",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/mutex.test.ts",
      title: "%s ends a wait that finds it: %s",
    },
  },
  {
    name: "queue-passed",
    what: "A mutex claims a record with waiters in its queue.",
    rules: ["R1"],
    edits: [
      {
        in: { nativeFormat },
        from: "condition: all(ontoCondition(onto, pk), ...queueCondition(grant), ...blockCondition(grant)),",
        to: "condition: all(ontoCondition(onto, pk)),",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/native/native.test.ts",
      title: "is not granted to a mutex while waiters are queued",
    },
  },
  {
    name: "ttl-at-the-lease-end",
    what: "The TTL is the end of the lease, so with a slow clock DynamoDB deletes a live record.",
    rules: ["R10"],
    edits: [
      {
        in: { expiresAt },
        from: "const RETENTION_MS = 7 * 24 * 3_600_000;",
        to: "const RETENTION_MS = 0;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/fences.test.ts",
      title: "survive TTL while the lock is held, with a holder's clock three days behind",
    },
  },
  {
    name: "ttl-in-milliseconds",
    what: "The TTL is in milliseconds, so DynamoDB never deletes the record.",
    rules: ["R10"],
    edits: [
      {
        in: { expiresAt },
        from: "return n(Math.ceil((wallMs + leaseMs + RETENTION_MS) / 1000));",
        to: "return n(Math.ceil(wallMs + leaseMs + RETENTION_MS));",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/fences.test.ts",
      title: "start above the former fence after TTL deletes an unused record",
    },
  },
  {
    name: "wall-clock-not-corrected",
    what: "The client uses a wall clock which the table's answers show to be days off.",
    rules: ["R10"],
    edits: [
      {
        in: { TableAccess },
        from: "return (now?.wallMs ?? this.clock.wallMs()) + this.table.clockCorrectionMs;",
        to: "return now?.wallMs ?? this.clock.wallMs();",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/fences.test.ts",
      title: "start from a clock corrected by the table's answers",
    },
  },
  {
    name: "keeper-keeps-alive",
    what: "The renewal timer keeps an otherwise finished process alive.",
    rules: ["R13"],
    edits: [
      {
        in: { RenewalScheduler },
        from: "this.#timers.set(delayMs, false, () => this.#wake());",
        to: "this.#timers.set(delayMs, true, () => this.#wake());",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/scheduler.test.ts",
      title: "do not keep the process alive",
    },
  },
  {
    name: "timer-left-behind",
    what: "The scheduler's timer stays after the end of the last lease.",
    rules: ["R13"],
    edits: [
      {
        in: { RenewalScheduler },
        from: "    if (this.#next.size === 0) this.#disarm();\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/scheduler.test.ts",
      title: "forgets ended leases, even during a visit, and removes its timer with the last lease",
    },
  },
  {
    name: "failed-claim-is-contention",
    what: "Throttling counts as contention.",
    rules: [],
    edits: [
      {
        in: { GrantRetry },
        from: "    return unlessUnserved(acquisition, sent) !== undefined;",
        to: `    const answer = this.#context.unlessLasting(sent, this.#cancellation.waits);
    if (answer.kind === "unknown") this.#cancellation.onNoResponse(answer);
    else this.#cancellation.onResponse();
    return answer.kind !== "unknown";`,
      },
      {
        in: { GrantWrite },
        from: "const verdict = this.#verdictOn(sent);",
        to: 'const verdict = !["applied", "refused"].includes(sent.kind) ? REFUSED : this.#verdictOn(sent);',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/acquire/waiting.test.ts",
      title: "a table that is busy (%s): it is asked again until the wait is over",
    },
  },
  {
    name: "whole-lease-for-one-request",
    what: "A request may take the rest of the lease, so no retry follows.",
    rules: ["R6"],
    edits: [
      {
        in: { TableAccess },
        from: "Math.min(this.settings.requestTimeoutMs, Math.max(1, leftMs / 2));",
        to: "this.settings.requestTimeoutMs;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "is retried in time as a renewal",
    },
  },
  {
    name: "unread-refusal-not-read",
    what: "A refusal with an item which the SDK cannot parse is an error; the client does not read the record instead.",
    rules: [],
    edits: [
      {
        in: { unreadIn },
        from: "  return isUnreadRefusal(cause) ? { cause } : undefined;\n",
        to: "  return isUnreadRefusal(cause) ? undefined : undefined;\n",
      },
    ],
    caughtBy: {
      test: "test/conformance/unread-refusals.test.ts",
      title: "is held by another client for a claim without a wait",
    },
  },
  {
    name: "tries-for-ever",
    what: "Without a wait, an unanswered attempt is retried for as long as reads are answered.",
    rules: [],
    edits: [
      {
        in: { AcquireLoop },
        from: "    if (isTooSlow) this.#silence = silence;\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/acquire/slow-answers.test.ts",
      title: "ends, and says so: $lease, $answerMs ms an answer",
    },
  },
  {
    name: "error-known-by-class",
    what: "The client recognises a refusal by its class, which bundlers rename and a second copy of the SDK duplicates.",
    rules: [],
    edits: [
      {
        in: { answerOf },
        from: '  if (name === "ConditionalCheckFailedException") {\n',
        to: "  if (error instanceof ConditionalCheckFailedException) {\n",
      },
      {
        in: { isUnreadRefusal },
        from: 'import { HoldfastError } from "../../errors.js";\n',
        to: 'import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";\nimport { HoldfastError } from "../../errors.js";\n',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/platform/dynamodb/errors.test.ts",
      title: "is recognised by its name, not by its class or the name of the class",
    },
  },
  {
    name: "refusal-without-item",
    what: "A refused write does not request the item, so the client counts its own success as a failure.",
    rules: ["R5"],
    edits: [
      {
        in: { writeInput },
        from: '    ReturnValuesOnConditionCheckFailure: "ALL_OLD",\n',
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/platform/dynamodb/table.test.ts",
      title: "answers with the written item, or with the item that refused the write",
    },
  },
  {
    name: "one-date-corrects-the-clock",
    what: "A single wrong `Date` moves the clock of fences and TTL.",
    rules: ["R9", "R10"],
    edits: [{ in: { DynamoDBTable }, from: "this.#lastAheadMs ?? aheadMs", to: "aheadMs" }],
    caughtBy: {
      test: "packages/holdfast/test/platform/dynamodb/table.test.ts",
      title: "believes no single date after a right one",
    },
  },
  {
    name: "no-deadline-of-a-call",
    what: "The client waits for an unanswered request without a limit.",
    rules: ["R6"],
    edits: [
      {
        in: { Bounds },
        from: "timers.set(call.timeoutMs, false, () =>",
        to: "timers.set(2 ** 40, false, () =>",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/platform/dynamodb/table.test.ts",
      title: "ends a write at the call's deadline without an answer",
    },
  },
  {
    name: "background-error-unseen",
    what: "An error in background work is not reported.",
    rules: ["R13"],
    edits: [
      {
        in: { ClientContext },
        from: `    const task = work().catch((cause: unknown) => {
      this.report(asHoldfastError(cause));
    });
    this.tracked(task);
`,
        to: "    this.tracked(work());\n",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "reports an unacknowledged release to onError",
    },
  },
  {
    name: "long-timer-at-once",
    what: "A timer of more than 2^31 - 1 ms fires at once.",
    rules: [],
    edits: [
      {
        in: { systemTimers },
        from: "const LONGEST_MS = 2 ** 31 - 1;",
        to: "const LONGEST_MS = Number.POSITIVE_INFINITY;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/platform/timers.test.ts",
      title: "of infinite length do not become a busy loop",
    },
  },
  {
    name: "ended-leases-kept",
    what: "The scheduler keeps each ended lease until its first renewal would have been due.",
    rules: ["R13"],
    edits: [
      {
        in: { RenewalScheduler },
        from: "    if (this.#visits.length > 2 * this.#next.size) this.#visits = heapOf([...this.#next.values()]);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/scheduler.test.ts",
      title: "remembers at most two visits per lease, however many leases have ended",
    },
  },
  {
    name: "observations-keep-data",
    what: "A client remembers whole records, with their user data, for the names in its memory.",
    rules: ["R13"],
    edits: [
      {
        in: { Observations },
        from: "const observed = observedOf(record);",
        to: "const observed = record;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/record/observation.test.ts",
      title: "keeps the inputs of decisions, without user data, and with shortened labels",
    },
  },
  {
    name: "sdk-stacks-shared",
    what: "A client derived from the user's client inherits the SDK's cache of middleware stacks.",
    rules: [],
    edits: [
      {
        in: { senderOver },
        from: "{ ...properties, handlers }",
        to: "properties",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/platform/dynamodb/sdk.test.ts",
      title: "keeps SDK retries after another command of the user",
    },
  },
];
