import type { Variant } from "./variant.js";

const NATIVE = "src/formats/native.ts";

/** Errors around the kernel: the layout, TTL, the table, timers, and the table itself. */
export const SURROUNDINGS: readonly Variant[] = [
  {
    name: "last-writer-wins",
    what: "the table, not the kernel: conditions are judged by a replica that lags, and the last writer wins",
    rules: [],
    edits: [
      {
        file: "src/testing/table/memory-table.ts",
        from: "    const before = this.item(write.key);\n    if (!holds",
        to: "    const before = this.#items.asOf(write.key, this.#nowMs() - 100);\n    if (!holds",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "unknown-layout-claimed",
    what: "a claim does not ask for the layout",
    rules: ["R12"],
    edits: [{ file: NATIVE, from: '  equals("v", n(1n)),\n', to: "" }],
    caughtBy: {
      test: "test/formats/native.test.ts",
      title: "is not claimed blindly either, where it has %s",
    },
  },
  {
    name: "session-claimed",
    what: "a claim does not ask that the record lives by no session",
    rules: ["R12"],
    edits: [
      {
        file: NATIVE,
        from: '  isAbsent("holder"),\n  NO_SESSION,\n',
        to: '  isAbsent("holder"),\n',
      },
    ],
    caughtBy: {
      test: "test/formats/native.test.ts",
      title: "is not claimed blindly either, where it has %s",
    },
  },
  {
    name: "unknown-layout-read",
    what: "a record of a newer layout is read as if it were known",
    rules: ["R12"],
    edits: [
      {
        file: NATIVE,
        from: "if (layout !== 1n) return",
        to: "if (layout < 1n) return",
      },
    ],
    caughtBy: { test: "test/locks/mutex.test.ts", title: "%s ends a wait that finds it: %s" },
  },
  {
    name: "queue-passed",
    what: "a mutex claims a record before which others stand in a queue",
    rules: ["R1"],
    edits: [
      {
        file: NATIVE,
        from: "condition: all(ontoCondition(onto, keys.pk), ...queueCondition(grant)),",
        to: "condition: all(ontoCondition(onto, keys.pk)),",
      },
    ],
    caughtBy: {
      test: "test/formats/native.test.ts",
      title: "is not passed by a mutex while a queue stands before it",
    },
  },
  {
    name: "ttl-at-the-lease-end",
    what: "the TTL lies at the end of the lease, so that a slow clock has a live record deleted",
    rules: ["R10"],
    edits: [
      {
        file: NATIVE,
        from: "const RETENTION_MS = 7 * 24 * 3_600_000;",
        to: "const RETENTION_MS = 0;",
      },
    ],
    caughtBy: {
      test: "test/core/hold/fences.test.ts",
      title: "keep a live record from TTL even where the holder's clock is three days behind",
    },
  },
  {
    name: "ttl-in-milliseconds",
    what: "the TTL is written in milliseconds, so that nothing is ever deleted",
    rules: ["R10"],
    edits: [
      {
        file: NATIVE,
        from: "return n(Math.ceil((wallMs + leaseMs + RETENTION_MS) / 1000));",
        to: "return n(Math.ceil(wallMs + leaseMs + RETENTION_MS));",
      },
    ],
    caughtBy: {
      test: "test/core/hold/fences.test.ts",
      title: "outlive the TTL: an unused record is gone after its retention, and restarts above",
    },
  },
  {
    name: "wall-clock-not-corrected",
    what: "a wall clock that the table's answers show to be days off is used all the same",
    rules: ["R10"],
    edits: [
      {
        file: "src/core/context.ts",
        from: "return this.clock.wallMs() + this.table.clockCorrectionMs;",
        to: "return this.clock.wallMs();",
      },
    ],
    caughtBy: {
      test: "test/core/hold/fences.test.ts",
      title: "are seeded by a clock that the table's answers have corrected",
    },
  },
  {
    name: "keeper-keeps-alive",
    what: "the timer of the renewals keeps a process alive that has nothing more to do",
    rules: ["R13"],
    edits: [
      {
        file: "src/core/scheduler.ts",
        from: "this.#timers.set(delayMs, false, () => this.#wake());",
        to: "this.#timers.set(delayMs, true, () => this.#wake());",
      },
    ],
    caughtBy: { test: "test/core/scheduler.test.ts", title: "do not keep the process alive" },
  },
  {
    name: "timer-left-behind",
    what: "the keeper's timer stays when the last lease has ended",
    rules: ["R13"],
    edits: [
      {
        file: "src/core/scheduler.ts",
        from: "    if (this.#next.size === 0) this.#disarm();\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/scheduler.test.ts",
      title: "forgets what has ended, even while it visits, and takes its timer away with the last",
    },
  },
  {
    name: "failed-claim-is-contention",
    what: "throttling is taken for contention",
    rules: [],
    edits: [
      {
        file: "src/core/acquire/grant-retry.ts",
        from: '["unknown", "throttled", "conflict", "skewed", "misconfigured"]',
        to: '["unknown", "misconfigured"]',
      },
      {
        file: "src/core/acquire/grant.ts",
        from: 'const begun = answered === "silent" ? answered : this.#verdictOn(answered);',
        to: 'const begun = answered === "silent" || !["applied", "refused"].includes(answered.kind) ? "refused" : this.#verdictOn(answered);',
      },
    ],
    caughtBy: {
      test: "test/core/acquire/waiting.test.ts",
      title: "a table that is busy (%s): it is asked again until the wait is over",
    },
  },
  {
    name: "whole-lease-for-one-request",
    what: "a request may take all that is left of the lease, and none is sent after it",
    rules: ["R6"],
    edits: [
      {
        file: "src/core/context.ts",
        from: "Math.min(this.settings.requestTimeoutMs, Math.max(1, leftMs / 2));",
        to: "this.settings.requestTimeoutMs;",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a renewal is sent again in time",
    },
  },
  {
    name: "unread-refusal-not-read",
    what: "a refusal that the SDK cannot read, for a key in its item, is an error, and the record is not read instead",
    rules: [],
    edits: [
      {
        file: "src/platform/dynamodb/unread-refusal.ts",
        from: "  return isUnreadRefusal(cause) ? { cause } : undefined;\n",
        to: "  return isUnreadRefusal(cause) ? undefined : undefined;\n",
      },
    ],
    caughtBy: {
      test: "test/conformance/unread-refusals.test.ts",
      title: "is another's lock to a claim that does not wait",
    },
  },
  {
    name: "tries-for-ever",
    what: "without a wait, an attempt that was not answered in useful time is made again as long as reads are answered",
    rules: [],
    edits: [
      {
        file: "src/core/acquire/loop.ts",
        from: "    if (isTooSlow) this.#silence = silence;\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/acquire/slow-answers.test.ts",
      title: "ends, and says so: $lease, $answerMs ms an answer",
    },
  },
  {
    name: "error-known-by-class",
    what: "a refusal is known by its class, which bundlers rename and a second copy of the SDK doubles",
    rules: [],
    edits: [
      {
        file: "src/platform/dynamodb/errors.ts",
        from: '  if (name === "ConditionalCheckFailedException") {\n',
        to: "  if (error instanceof ConditionalCheckFailedException) {\n",
      },
      {
        file: "src/platform/dynamodb/errors.ts",
        from: 'import { HoldfastError } from "../../errors.js";\n',
        to: 'import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";\nimport { HoldfastError } from "../../errors.js";\n',
      },
    ],
    caughtBy: {
      test: "test/platform/dynamodb/errors.test.ts",
      title: "is known by its name, not by its class or its class's name",
    },
  },
  {
    name: "refusal-without-item",
    what: "a refused write does not ask for the item that refused it, so one's own success is a failure",
    rules: ["R5"],
    edits: [
      {
        file: "src/platform/dynamodb/table.ts",
        from: '      ReturnValues: "ALL_NEW",\n      ReturnValuesOnConditionCheckFailure: "ALL_OLD",\n',
        to: '      ReturnValues: "ALL_NEW",\n',
      },
    ],
    caughtBy: {
      test: "test/platform/dynamodb/table.test.ts",
      title: "answers with the item that a write made, and with the one that refused it",
    },
  },
  {
    name: "no-deadline-of-a-call",
    what: "a request that nobody answers is waited for without end",
    rules: ["R6"],
    edits: [
      {
        file: "src/platform/bounded.ts",
        from: "timers.set(call.timeoutMs, false, () =>",
        to: "timers.set(2 ** 40, false, () =>",
      },
    ],
    caughtBy: {
      test: "test/platform/dynamodb/table.test.ts",
      title: "ends a write by its own deadline where nobody answers",
    },
  },
  {
    name: "background-error-unseen",
    what: "an error of work in the background is told to nobody",
    rules: ["R13"],
    edits: [
      {
        file: "src/core/context.ts",
        from: `    const task = work().catch((cause: unknown) => {
      this.report(asHoldfastError(cause));
    });
    this.tracked(task);
`,
        to: "    this.tracked(work());\n",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "are told to onError where a release was given up, and nobody ever answered",
    },
  },
  {
    name: "long-timer-at-once",
    what: "a timer longer than 2^31 - 1 ms fires at once",
    rules: [],
    edits: [
      {
        file: "src/platform/timers.ts",
        from: "const LONGEST_MS = 2 ** 31 - 1;",
        to: "const LONGEST_MS = Number.POSITIVE_INFINITY;",
      },
    ],
    caughtBy: { test: "test/platform/timers.test.ts", title: "for ever do not become a busy loop" },
  },
  {
    name: "ended-leases-kept",
    what: "the keeper keeps each lease that has ended until its first renewal would have been due",
    rules: ["R13"],
    edits: [
      {
        file: "src/core/scheduler.ts",
        from: "    if (this.#visits.length > 2 * this.#next.size) this.#visits = heapOf([...this.#next.values()]);\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/scheduler.test.ts",
      title: "remembers at most two visits for each lease that it keeps, however many have ended",
    },
  },
  {
    name: "observations-keep-data",
    what: "a client remembers whole records, with their user data, of the names that it has met",
    rules: ["R13"],
    edits: [
      {
        file: "src/core/record/observation.ts",
        from: "observe(entry.observation, observedOf(record), strength, nowMs)",
        to: "observe(entry.observation, record, strength, nowMs)",
      },
    ],
    caughtBy: {
      test: "test/core/record/observation.test.ts",
      title: "is what decisions rest on, without user data, and with labels that are cut",
    },
  },
  {
    name: "sdk-stacks-shared",
    what: "a client derived from the user's inherits the SDK's cache of stacks",
    rules: [],
    edits: [
      {
        file: "src/platform/dynamodb/sdk.ts",
        from: "{ ...properties, handlers }",
        to: "properties",
      },
    ],
    caughtBy: {
      test: "test/platform/dynamodb/sdk.test.ts",
      title: "keeps the user's retries where another command of the user's was sent before",
    },
  },
];
