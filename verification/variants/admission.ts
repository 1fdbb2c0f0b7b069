import { GrantRetry } from "../../packages/holdfast/src/core/acquire/grant-retry.js";
import { Admission } from "../../packages/holdfast/src/core/admission.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
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
