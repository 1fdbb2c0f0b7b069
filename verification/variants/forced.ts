import { askHolderToRelease } from "../../packages/holdfast/src/admin/force-release.js";
import { freeDead } from "../../packages/holdfast/src/admin/free-dead.js";
import { freeEarly } from "../../packages/holdfast/src/core/hold/writes.js";
import type { Variant } from "./variant.js";

const SESSION_OF_ANSWER = "  const { session } = asked;\n";
const CAUGHT = {
  invariant: "told in time",
  within: 200,
  of: "crashing world",
} as const;

/** Defects in the order of steps in a forced release. */
export const FORCED: readonly Variant[] = [
  {
    name: "forced-session-of-first-look",
    what: "A forced release writes its request to the session of its first read, though the holder has moved since.",
    rules: ["R8"],
    edits: [
      { in: { askHolderToRelease }, from: SESSION_OF_ANSWER, to: "  const { session } = first;\n" },
    ],
    caughtBy: CAUGHT,
  },
  {
    name: "forced-frees-before-it-tells",
    what: "A forced release at once frees the lock before it writes its request to the session.",
    rules: ["R8"],
    edits: [
      {
        in: { askHolderToRelease },
        from: "writeOnce(context, ref, ask, signal)",
        to: "writeOnce(context, ref, now ? freeingOf(context, ref, forced) : ask, signal)",
      },
      {
        in: { askHolderToRelease },
        from: "  if (!names(asked, first)) return",
        to: "  if (!now && !names(asked, first)) return",
      },
      {
        in: { askHolderToRelease },
        from: SESSION_OF_ANSWER,
        to: "  const { session } = now ? first : asked;\n",
      },
    ],
    caughtBy: CAUGHT,
  },
  {
    name: "forced-session-untold",
    what: "A forced release writes no request to the holder's session.",
    rules: ["R8"],
    edits: [
      {
        in: { askHolderToRelease },
        from: "    await retries.send(() => notifyOnce(context, session, first.holder, signal));\n",
        to: "    {}\n",
      },
    ],
    caughtBy: { invariant: "told in time", within: 200, of: "crashing world" },
  },
  {
    name: "forced-on-refused-end",
    what: "A forced release frees a record although DynamoDB refused to end the holder's session, which may be alive.",
    rules: ["R4"],
    edits: [
      {
        in: { freeDead },
        from: 'if (judge(context, ref, record).kind !== "take-over") return',
        to: 'if (decision.kind !== "take-over" && decision.kind !== "end-session") return',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/admin/force-steps.test.ts",
      title: "frees no lock whose session was renewed during the pause",
    },
  },
  {
    name: "forced-release-sent-once",
    what: "The release of a lease that an operator ended is sent once, so a lost one leaves the lock idle for a lease.",
    rules: ["R14"],
    edits: [
      {
        in: { freeEarly },
        from: "if (!RESERVED_AFTER_LOSS.includes(reason) && lastData === undefined) return",
        to: "if (reason !== undefined) return",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/admin/force-steps.test.ts",
      title: "is sent again if it %s: no lock idles for a lease",
    },
  },
];
