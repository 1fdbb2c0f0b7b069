import { askHolderToRelease } from "../../packages/holdfast/src/admin/force-release.js";
import { leasesSeen } from "../../packages/holdfast/src/core/acquire/holder-seen.js";
import { exchange } from "../../packages/holdfast/src/core/permits/exchange.js";
import {
  freeStrays,
  PermitGrantWrite,
  withdraw,
} from "../../packages/holdfast/src/core/permits/grant.js";
import { PermitLoop } from "../../packages/holdfast/src/core/permits/loop.js";
import { decidePermit } from "../../packages/holdfast/src/core/record/decide-permit.js";
import { SessionKeepAlive } from "../../packages/holdfast/src/core/session/keep-alive.js";
import { Permits } from "../../packages/holdfast/src/locks/permits.js";
import {
  nativePermits,
  permitRemoval,
  permitRequest,
} from "../../packages/holdfast/src/native/native-permits.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/locks/permits/semaphore.test.ts";
const READ_WRITE_TEST = "packages/holdfast/test/locks/permits/read-write-lock.test.ts";
const MISCONFIGURED_DOWNGRADE =
  "frees the lock when the configuration is wrong at its downgrade, %s";
const FORCED_TEST = "packages/holdfast/test/admin/permits.test.ts";

/** Defects in semaphores and read-write locks. */
export const PERMITS: readonly Variant[] = [
  {
    name: "permit-on-another-clients-session",
    what: "A permit may live by the session of another client, which others do not find in the table.",
    rules: ["R1"],
    edits: [
      {
        in: { Permits },
        from: "  life.accepts(context, life.leaseMs, life.renewMs);\n",
        to: "  void context;\n",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "cannot use a session of another client, which others would not find in the table",
    },
  },
  {
    name: "permit-used-unchecked",
    what: "A grant does not require that the permit fits under the limit.",
    rules: ["R1"],
    edits: [
      {
        in: { nativePermits },
        from: 'any(isAbsent("used"), { kind: "below", attribute: "used", value: n(limit - weight + 1) }),',
        to: "",
      },
    ],
    caughtBy: { invariant: "permits", within: 60, of: "world" },
  },
  {
    name: "permit-above-a-limit-without-a-count",
    what: "A weight above the limit is granted in a record that has a limit and no count.",
    rules: [],
    edits: [
      { in: { nativePermits }, from: '...(weight > limit ? [isPresent("used")] : []),', to: "" },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/permits/limits.test.ts",
      title: "refuses it also before the first permit, to a client that knows the limit",
    },
  },
  {
    name: "permit-limit-of-caller",
    what: "A caller with another limit goes by its own.",
    rules: [],
    edits: [
      {
        in: { nativePermits },
        from: 'isStored ? isLimit : any(isAbsent("limit"), isLimit),',
        to: "isStored ? isLimit : KNOWN,",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "refuses a caller that insists on another limit, and names both",
    },
  },
  {
    name: "permit-adopted-limit-outlives-record",
    what: "A limit that a client adopted becomes the limit of a new record.",
    rules: [],
    edits: [
      {
        in: { nativePermits },
        from: "if (onto === undefined) return [isStored ? fits(grant) : any(isAbsent(pk), fits(grant))];",
        to: "if (onto === undefined) return [isStored === undefined ? fits(grant) : any(isAbsent(pk), fits(grant))];",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/permits/limits.test.ts",
      title:
        "gives a new record the number of its first caller, and not the number of the last record",
    },
  },
  {
    name: "permit-limit-of-writer-adopted",
    what: "A writer adopts a limit above its weight, which leaves room for others.",
    rules: ["R1"],
    edits: [
      {
        in: { PermitLoop },
        from: "const adopts = adopted !== undefined || place !== undefined;",
        to: "const adopts = true;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/permits/limits.test.ts",
      title: "refuses another limit of a read-write lock",
    },
  },
  {
    name: "permit-waiter-keeps-limit",
    what: "A waiter in the queue fails when an operator changes the limit.",
    rules: [],
    edits: [
      {
        in: { PermitLoop },
        from: "const adopts = adopted !== undefined || place !== undefined;",
        to: "const adopts = place !== undefined && adopted === undefined && weight < 0;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/admin/set-limit.test.ts",
      title: "keeps the waiters of every process in the queue when it %s the limit",
    },
  },
  {
    name: "permit-limit-restored",
    what: "A late copy of an earlier change restores its limit.",
    rules: ["R5"],
    edits: [
      { in: { nativePermits }, from: "all(KNOWN, equals(CHANGES, n(changes)))", to: "KNOWN" },
    ],
    caughtBy: {
      test: "packages/holdfast/test/admin/set-limit.test.ts",
      title: "keeps the later limit when a copy of an earlier change arrives late",
    },
  },
  {
    name: "permit-added-twice",
    what: "A retried grant adds its weight again.",
    rules: ["R5"],
    edits: [
      {
        in: { nativePermits },
        from: "all(isAbsent(PERMIT + holder), isAbsent(WITHDRAWN + holder))",
        to: "isAbsent(WITHDRAWN + holder)",
      },
    ],
    caughtBy: { invariant: "counted", within: 60, of: "world" },
  },
  {
    name: "permit-mark-ignored",
    what: "A late request is granted although its attempt was withdrawn.",
    rules: ["R14"],
    edits: [
      {
        in: { nativePermits },
        from: "all(isAbsent(PERMIT + holder), isAbsent(WITHDRAWN + holder))",
        to: "isAbsent(PERMIT + holder)",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "never grants an attempt that the caller gave up, however late its request arrives",
    },
  },
  {
    name: "permit-not-withdrawn",
    what: "A client that gives up an attempt leaves its request to itself.",
    rules: ["R14"],
    edits: [
      {
        in: { PermitGrantWrite },
        from: "if (repetition.unanswered > 0) this.#withdraw();",
        to: "if (repetition.unanswered < 0) this.#withdraw();",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "never grants an attempt that the caller gave up, however late its request arrives",
    },
  },
  {
    name: "permit-release-without-mark",
    what: "The release of a permit whose request was sent twice leaves no mark.",
    rules: ["R5"],
    edits: [
      {
        in: { PermitGrantWrite },
        from: "leavesMark: wasRepeated",
        to: "leavesMark: wasRepeated && weight < 0",
      },
    ],
    caughtBy: { test: TEST, title: "adds a permit once when the answer to its grant is lost" },
  },
  {
    name: "permit-removed-twice",
    what: "A removal does not require the permit, so its weight is subtracted twice.",
    rules: ["R4"],
    edits: [
      {
        in: { permitRemoval },
        from: "isPresent(PERMIT + holder), ...(known === undefined ? [] : [permitCondition(known)]),",
        to: "...(known === undefined ? [] : []),",
      },
      { in: { permitRemoval }, from: "isPresent, KNOWN,", to: "KNOWN," },
    ],
    caughtBy: { invariant: "counted", within: 60, of: "world" },
  },
  {
    name: "permit-weight-of-remover",
    what: "A waiter that removes a dead permit subtracts its own weight.",
    rules: ["R4"],
    edits: [
      {
        in: { PermitLoop },
        from: "permits.permitOf(ref, { holder, weight, leavesMark: false })",
        to: "permits.permitOf(ref, { holder, weight: weight && this.#wish.weight, leavesMark: false })",
      },
    ],
    caughtBy: { invariant: "counted", within: 60, of: "world" },
  },
  {
    name: "permit-of-living-removed",
    what: "A waiter removes permits whose session is alive.",
    rules: ["R3"],
    edits: [
      {
        in: { decidePermit },
        from: 'if (decision.kind === "take-over") return',
        to: 'if (decision.kind === "take-over" || decision.kind === "wait") return',
      },
    ],
    caughtBy: { invariant: "ownership", within: 60, of: "world" },
  },
  {
    name: "permit-passes-queue",
    what: "A grant does not ask the queue.",
    rules: [],
    edits: [
      {
        in: { nativePermits },
        from: "...queueCondition(grant)",
        to: "...queueCondition(grant).slice(9)",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "serves waiters first come, first served, and lets no light waiter pass a heavy one",
    },
  },
  {
    name: "permit-fence-by-clock",
    what: "The fence of a permit comes from the caller's clock.",
    rules: ["R9"],
    edits: [
      { in: { nativePermits }, from: '{ incrementFrom, of: "fence" }', to: "{ incrementFrom }" },
    ],
    caughtBy: { invariant: "fence order", within: 60, of: "world" },
  },
  {
    name: "permit-stray-kept",
    what: "A client ignores a permit that a copy of its request was granted.",
    rules: ["R14"],
    edits: [
      {
        in: { freeStrays },
        from: "if (session !== life.id || context.ownPermits.has(holder)) continue;",
        to: "if (session !== life.id || holder !== undefined) continue;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "frees a permit that a copy of an answered request granted again",
    },
  },
  {
    name: "permit-stray-not-looked-for",
    what: "A waiter asks no session to look for unused permits.",
    rules: ["R14"],
    edits: [
      {
        in: { PermitLoop },
        from: "if (context.nowMs() - this.#fromMs <= this.#wish.life.leaseMs) return;",
        to: "if (context.nowMs() >= this.#fromMs) return;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "gets back, for a waiter, a permit that its client does not know of",
    },
  },
  {
    name: "permit-check-stops-at-silence",
    what: "A session looks for unused permits in no record after one that does not answer.",
    rules: [],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "if (!(await permitCheck(ref))) continue;",
        to: "if (!(await permitCheck(ref))) break;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "gets back such a permit of %s although the record of %s does not answer",
    },
  },
  {
    name: "downgrade-ends-late",
    what: "A writer stops writing only when the answer to its downgrade has arrived.",
    rules: ["R2"],
    edits: [
      {
        in: { exchange },
        from: "if (life === undefined || !from.beginRelease()) throw",
        to: "if (life === undefined || !from.isHeld) throw",
      },
      {
        in: { exchange },
        from: "life.keep(to);",
        to: "life.keep(to); from.beginRelease();",
      },
    ],
    caughtBy: { invariant: "permits", within: 200, of: "world" },
  },
  {
    name: "permit-wait-of-own-lease",
    what: "The default wait for a permit ignores the leases of the permits in the record.",
    rules: [],
    edits: [
      {
        in: { leasesSeen },
        from: "return (held?.permits ?? []).map(({ leaseMs }) => leaseMs);",
        to: "return [];",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/acquire/default-wait.test.ts",
      title: "outlasts a dead holder with a lease of %s (own lease %s, %j)",
    },
  },
  {
    name: "downgrade-leaves-permit",
    what: "A downgrade that meets a wrong configuration leaves the write lock to the session.",
    rules: ["R14"],
    edits: [
      {
        in: { exchange },
        from: "if (to === undefined) freeBoth(from, own);",
        to: "if (to === null) freeBoth(from, own);",
      },
    ],
    caughtBy: {
      test: READ_WRITE_TEST,
      title: MISCONFIGURED_DOWNGRADE,
    },
  },
  {
    name: "downgrade-leaves-new-permit",
    what: "A downgrade that fails after a lost answer frees the old permit alone.",
    rules: ["R14"],
    edits: [
      {
        in: { exchange },
        from: 'if (freed.kind !== "refused" || !has(freed.item, holder)) return freed;',
        to: 'if (freed.kind !== "refused" || has(freed.item, holder)) return freed;',
      },
    ],
    caughtBy: { test: READ_WRITE_TEST, title: MISCONFIGURED_DOWNGRADE },
  },
  {
    name: "downgrade-passes-request",
    what: "A writer that an operator has asked to release goes on as a reader.",
    rules: ["R8"],
    edits: [{ in: { nativePermits }, from: "isAbsent(REQUEST + held.holder),", to: "" }],
    caughtBy: {
      test: READ_WRITE_TEST,
      title: "ends at its downgrade if an operator has asked for its release",
    },
  },
  {
    name: "permit-forced-before-told",
    what: "A forced release at once frees a permit though its session has not been notified.",
    rules: ["R8"],
    edits: [
      {
        in: { askHolderToRelease },
        from: "  if (session !== undefined)\n    await retries.send(() => notifyOnce(context, session, first.holder, signal));\n",
        to: "  if (session !== undefined) void notifyOnce(context, session, first.holder);\n",
      },
    ],
    caughtBy: {
      test: FORCED_TEST,
      title: "with now, keeps the permit if the notification of the session is not answered",
    },
  },
  {
    name: "permit-request-replaces-another",
    what: "A request to the holder of one permit replaces the request to the holder of another.",
    rules: ["R8"],
    edits: [
      {
        in: { permitRequest },
        from: "set: { [REQUEST + holder]: value, request: value }",
        to: "set: { request: value }",
      },
    ],
    caughtBy: {
      test: FORCED_TEST,
      title: "asks two holders at once, and each learns of its own request",
    },
  },
  {
    name: "permit-request-left",
    what: "The removal of a permit leaves the request to its holder in the record, which grows.",
    rules: [],
    edits: [
      {
        in: { permitRemoval },
        from: "remove: [PERMIT + holder, FENCE + holder, REQUEST + holder]",
        to: "remove: [PERMIT + holder, FENCE + holder]",
      },
    ],
    caughtBy: {
      test: FORCED_TEST,
      title:
        "ends one permit, tells its holder who and why, and leaves the permit taken until the release",
    },
  },
  {
    name: "permit-of-a-loss-in-use",
    what: "A permit whose lease was lost stays one of its client's own, so that a late copy of its grant is never removed.",
    rules: ["R14"],
    edits: [
      {
        in: { SessionKeepAlive },
        from: "if (from.known !== undefined) this.#context.abandon(from.known.holder);",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/permits/faults.test.ts",
      title: "is removed also if its holder had held it for too long",
    },
  },
  {
    name: "downgrade-without-mark",
    what: "A downgrade leaves no mark of a writer's grant that was sent twice, so that a late copy is granted again.",
    rules: ["R5"],
    edits: [{ in: { nativePermits }, from: "...markOf(from.permit, grant.wallMs),", to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/locks/permits/read-write-lock.test.ts",
      title: "refuses a late copy of a writer's grant after its downgrade",
    },
  },
  {
    name: "session-ended-by-a-full-record",
    what: "A record without room for the mark of a withdrawal ends the client's session.",
    rules: [],
    edits: [
      {
        in: { withdraw },
        from: 'if (marked.kind === "misconfigured" && isTooLarge(marked.error)) return NO_ROOM;',
        to: "void isTooLarge;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/permits/full-record.test.ts",
      title: "a session survives a withdrawal for which the record has no room",
    },
  },
];
