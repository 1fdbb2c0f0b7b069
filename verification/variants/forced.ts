import type { Variant } from "./variant.js";

const FILE = "src/admin/force-release.ts";
const SESSION_OF_ANSWER = "  const { session } = asked;\n";
const CAUGHT = {
  test: "test/sim/forced.test.ts",
  title: "make no two holders, and tell each, in five runs that never change",
};

/** Errors in the order of the steps of a forced release. */
export const FORCED: readonly Variant[] = [
  {
    name: "forced-session-of-first-look",
    what: "a forced release tells the session that its first read showed, though the holder has moved since",
    rules: ["R8"],
    edits: [{ file: FILE, from: SESSION_OF_ANSWER, to: "  const { session } = first;\n" }],
    caughtBy: CAUGHT,
  },
  {
    name: "forced-frees-before-it-tells",
    what: "a forced release at once frees the lock, and tells the session afterwards",
    rules: ["R8"],
    edits: [
      {
        file: FILE,
        from: "writeOnce(context, ref, force(ref, forced))",
        to: "writeOnce(context, ref, now ? freeingOf(context, ref, forced) : force(ref, forced))",
      },
      {
        file: FILE,
        from: "  if (!names(asked, first)) return",
        to: "  if (!now && !names(asked, first)) return",
      },
      { file: FILE, from: SESSION_OF_ANSWER, to: "  const { session } = now ? first : asked;\n" },
    ],
    caughtBy: CAUGHT,
  },
  {
    name: "forced-session-untold",
    what: "a forced release tells nothing to the session that its holder lives by",
    rules: ["R8"],
    edits: [
      {
        file: FILE,
        from: "    await patience.insist(() => notifyOnce(context, session, first.holder));\n",
        to: "    {}\n",
      },
    ],
    caughtBy: CAUGHT,
  },
];
