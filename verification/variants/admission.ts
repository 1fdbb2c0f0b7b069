import { GrantRetry } from "../../packages/holdfast/src/core/acquire/grant-retry.js";
import { Admission } from "../../packages/holdfast/src/core/admission.js";
import { closeAll } from "../../packages/holdfast/src/core/hold/close.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { slices } from "../../packages/holdfast/src/core/slices.js";
import { TableAccess } from "../../packages/holdfast/src/core/table-access.js";
import { Throttling } from "../../packages/holdfast/src/core/throttling.js";
import type { Variant } from "./variant.js";

const BURSTS = "packages/holdfast/test/core/bursts.test.ts";

/** Defects in the order and the number of the requests that a client sends at once. */
export const ADMISSION: readonly Variant[] = [
  {
    name: "requests-without-a-bound",
    what: "A client sends every request at once, and the requests wait for a connection in any order.",
    rules: [],
    edits: [
      {
        in: { Admission },
        from: "    if (this.#inFlight >= most) return false;\n    return ",
        to: "    if (this.#inFlight >= 0) return true;\n    return most > 0 && ",
      },
    ],
    caughtBy: { test: BURSTS, title: "cost no held lease, and two requests a lock: %s ms" },
  },
  {
    name: "renewals-behind-claims",
    what: "Claims may use all connections, and go before the renewals that wait.",
    rules: [],
    edits: [
      {
        in: { Admission },
        from: '    this.#admitNext("keep");\n    this.#admitNext("claim");\n',
        to: '    this.#admitNext("claim");\n    this.#admitNext("keep");\n',
      },
      { in: { Admission }, from: "const CLAIMS_PART = 2 / 3;", to: "const CLAIMS_PART = 1;" },
    ],
    caughtBy: { test: BURSTS, title: "cost no held lease, and two requests a lock: %s ms" },
  },
  {
    name: "releases-before-renewals",
    what: "A burst of releases goes before the renewals that wait.",
    rules: [],
    edits: [{ in: { TableAccess }, from: "rank: Number.MAX_SAFE_INTEGER", to: "rank: 0" }],
    caughtBy: { test: BURSTS, title: "cost no held lease when %s is released at once" },
  },
  {
    name: "burst-in-one-turn",
    what: "However many acquisitions begin at once, all begin in one turn of the event loop.",
    rules: [],
    edits: [{ in: { slices }, from: "const MOST_AT_ONCE = 256;", to: "const MOST_AT_ONCE = 1e9;" }],
    caughtBy: {
      test: "packages/holdfast/test/core/slices.test.ts",
      title: "a burst begins at most 256 acquisitions",
    },
  },
  {
    name: "close-reads-clocks-for-each",
    what: "The close of a client reads the clocks for each of its leases.",
    rules: [],
    edits: [
      {
        in: { closeAll },
        from: "const now = instantOf(context.clock);",
        to: "const now = undefined;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/slices.test.ts",
      title: "reads the clocks a few times, and not once for each lease, to close a client",
    },
  },
  {
    name: "renewal-sent-after-the-end",
    what: "A renewal whose turn comes after the end of its lease is sent all the same.",
    rules: ["R2"],
    edits: [{ in: { Hold }, from: "      if (leftMs <= 0) return undefined;\n", to: "" }],
    caughtBy: { test: BURSTS, title: "is not sent if its lease has ended before its turn" },
  },
  {
    name: "throttled-leases-alone",
    what: "Each lease retries a throttled renewal as if it were the client's only one.",
    rules: [],
    edits: [
      {
        in: { Throttling },
        from: "    return Math.min(MOST, Math",
        to: "    return Math.min(1, Math",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/throttling.test.ts",
      title: "gets few retries from many leases, and renews what it can",
    },
  },
  {
    name: "turn-kept-between-sends",
    what: "A claim without an answer keeps its turn while it pauses, so other claims are not sent.",
    rules: [],
    edits: [
      {
        in: { GrantRetry },
        from: "    this.#turn.leave();\n",
        to: "",
      },
      {
        in: { GrantRetry },
        from: "    if (!this.#turn.tryEnter()) await this.#turn.enter(this.#cancellation.signal);\n",
        to: "",
      },
    ],
    caughtBy: { test: BURSTS, title: "are sent while others of them are throttled" },
  },
];
