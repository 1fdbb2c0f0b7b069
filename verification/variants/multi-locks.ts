import { GrantManyWrite } from "../../packages/holdfast/src/core/acquire/grant-many.js";
import { doingOf } from "../../packages/holdfast/src/core/acquire/grant-many-result.js";
import { joinedOf } from "../../packages/holdfast/src/core/permits/joined.js";
import { PermitPart } from "../../packages/holdfast/src/core/permits/part.js";
import { highestTicketSeen } from "../../packages/holdfast/src/core/queue/place-at-once.js";
import { acquireMany } from "../../packages/holdfast/src/locks/multi-acquire.js";
import { MultiLease } from "../../packages/holdfast/src/locks/multi-lease.js";
import { MultiPlace } from "../../packages/holdfast/src/locks/multi-place.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { nativePermits } from "../../packages/holdfast/src/native/native-permits.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/locks/multi-lock/multi-lock.test.ts";

const MIXED_TEST = "packages/holdfast/test/locks/multi-lock/mixed.test.ts";

/** Defects in grants of several locks at once. */
export const MULTI_LOCKS: readonly Variant[] = [
  {
    name: "mixed-permit-onto-any",
    what: "The grant of a permit with others does not require the record that it was computed from.",
    rules: ["R9"],
    edits: [
      {
        in: { nativePermits },
        from: 'return [fits(grant), equals("fence", n(onto.fence)), equals("version", n(onto.version))];',
        to: "return [fits(grant)];",
      },
    ],
    caughtBy: { test: MIXED_TEST, title: "show each part the fence that its record has" },
  },
  {
    name: "mixed-permit-not-withdrawn",
    what: "A client that gives up a transaction leaves its permits to themselves.",
    rules: ["R14"],
    edits: [
      {
        in: { PermitPart },
        from: "if (mayBeApplied) withdraw({ context, ref }, grant, life);",
        to: "if (mayBeApplied && weight < 0) withdraw({ context, ref }, grant, life);",
      },
    ],
    caughtBy: {
      test: MIXED_TEST,
      title: "leave nothing when the caller gives up during a transaction without an answer: %s",
    },
  },
  {
    name: "mixed-own-transaction-unknown",
    what: "A client does not recognise its permit in a refusal.",
    rules: ["R5"],
    edits: [
      {
        in: { joinedOf },
        from: "shown.push(found);",
        to: 'shown.push(found && { state: "absent" });',
      },
    ],
    caughtBy: {
      test: MIXED_TEST,
      title: "recognise their own transaction when its answer is lost",
    },
  },
  {
    name: "part-granted",
    what: "The client takes the acquirable locks of several, and leaves the rest.",
    rules: ["R1"],
    edits: [
      {
        in: { acquireMany },
        from: "if (!refs.every((ref) => isAvailable(together, ref))) return undefined;",
        to: "if (!refs.some((ref) => isAvailable(together, ref))) return undefined;",
      },
      {
        in: { acquireMany },
        from: "if (!refs.every((ref) => isAvailable(together, ref, settings.passage))) {",
        to: "if (!refs.some((ref) => isAvailable(together, ref, settings.passage))) {",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "exclude a mutex and a fair lock of the same names, all or nothing",
    },
  },
  {
    name: "joint-ticket-taken-twice",
    what: "The client takes a place in several queues whatever the earlier tickets.",
    rules: ["R14"],
    edits: [
      {
        in: { nativeFormat },
        from: 'any(isAbsent("tail"), { kind: "below", attribute: "tail", value: n(ticket) }),',
        to: 'any(isAbsent("tail"), isPresent("tail")),',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "for a place restores nothing after a late arrival without the token",
    },
  },
  {
    name: "joint-ticket-by-clock",
    what: "The ticket for several queues comes from the clock alone.",
    rules: ["R11"],
    edits: [
      {
        in: { MultiPlace },
        from: "const seen = highestTicketSeen(context, refs) ?? wallMs;",
        to: "const seen = wallMs;",
      },
    ],
    caughtBy: { test: TEST, title: "get a place even with a clock that is behind" },
  },
  {
    name: "joint-ticket-below-served",
    what: "The ticket for several queues may be below the last granted ticket when the counter was lost with its record.",
    rules: [],
    edits: [
      {
        in: { highestTicketSeen },
        from: "for (const seen of [tail, served]) {",
        to: "for (const seen of [tail]) {",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/lost-counter.test.ts",
      title: "is next acquired with a new ticket, above the last granted ticket",
    },
  },
  {
    name: "joint-ticket-tried-again",
    what: "After a refusal that shows no higher ticket, the client tries the same ticket for several queues again.",
    rules: [],
    edits: [{ in: { MultiPlace }, from: "tried = ticket;", to: "tried = ticket - ticket;" }],
    caughtBy: {
      test: "packages/holdfast/test/locks/fair-lock/lost-counter.test.ts",
      title: "is next acquired above the ticket of an old entry that the counter does not show",
    },
  },
  {
    name: "expired-place-of-a-try",
    what: "A call without a wait rejects with an internal symbol if its place in the queues expires.",
    rules: [],
    edits: [
      {
        in: { acquireMany },
        from: "return await grantAll(together, own, cancellation);",
        to: "return await grantAll(together, own, place);",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "gets the locks although its place expires in a pause before the grant",
    },
  },
  {
    name: "joint-grant-not-exact",
    what: "A claim of a free record does not require the observed fence.",
    rules: ["R14"],
    edits: [
      {
        in: { nativeFormat },
        from: 'return all(FREE, equals("fence", n(onto.fence)));',
        to: "return FREE;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "for a grant grants nothing after a late arrival without the token",
    },
  },
  {
    name: "joint-grant-half-recognised",
    what: "A transaction counts as granted when one of its records shows the grant, whatever the rest show.",
    rules: ["R5"],
    edits: [
      {
        in: { doingOf },
        from: 'return own === all ? "own" : "partly own";',
        to: 'return all > 0 ? "own" : "partly own";',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/acquire/grant-many-result.test.ts",
      title: "returns own only if every shown record has the id of the grant",
    },
  },
  {
    name: "loss-of-one-alone",
    what: "The loss of one of several locks does not end the leases of the rest.",
    rules: ["R8"],
    edits: [
      {
        in: { MultiLease },
        from: 'hold.end(isOfAll ? reason : "lost-with-another");',
        to: "void isOfAll;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "leaves unreleased locks to a rival that watches for a lease",
    },
  },
  {
    name: "joint-grant-not-undone",
    what: "A transaction of grants abandoned without an answer is not rolled back.",
    rules: ["R14"],
    edits: [
      {
        in: { GrantManyWrite },
        from: "if (this.#repetition.unanswered === 0) continue;",
        to: "if (this.#repetition.unanswered >= 0) continue;",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "that is applied late, after the client gave up, grants nothing for longer than a lease",
    },
  },
  {
    name: "already-lost-part",
    what: "A lease of several locks does not look whether one of them was lost before its handle was made.",
    rules: ["R8"],
    edits: [
      {
        in: { MultiLease },
        from: "onAbort(hold.lossSignal.signal, () => this.#loseWith(hold));",
        to: 'hold.lossSignal.signal.addEventListener("abort", () => this.#loseWith(hold));',
      },
    ],
    caughtBy: {
      test: TEST,
      title: "are lost from the beginning if one of them was lost before its handle was made",
    },
  },
  {
    name: "forgotten-locks-renewed",
    what: "Several locks whose handle was garbage-collected are renewed for ever.",
    rules: [],
    edits: [
      {
        in: { MultiLease },
        from: "holds[0]?.context.finalization.watch(lease, () => joint.forget());",
        to: "void joint;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/multi-lock/forgotten.test.ts",
      title:
        "several locks whose handle is garbage-collected end without renewals (signal used: %s)",
    },
  },
];
