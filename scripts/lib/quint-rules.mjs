// The bounds of `npm run quint`, in ticks, and the rules that it breaks one at a time: each with the invariant that breaks
// first, bounds in which random steps find this soon, and the seed of a run in which they do. A change of the model may
// need other seeds: `npm run quint` prints those that it finds.

const DRIFT = { lease: 3, drift: 1 };
/** A renewal is due soon. */
const SHORT = { lease: 2, drift: 0 };
/** A holder acts for long after one grant. */
const LONG = { lease: 4, drift: 0 };

export const BOUNDS = [DRIFT, SHORT, LONG];

export const BROKEN_RULES = [
  { rule: "margin of the holder", breaks: "Exclusion", ...DRIFT, seed: "0x218a55" },
  { rule: "margin of the watcher", breaks: "Exclusion", ...DRIFT, seed: "0x3cc88" },
  { rule: "start before the send", breaks: "Exclusion", ...SHORT, seed: "0x3272b" },
  { rule: "renewals start the watch again", breaks: "Exclusion", ...LONG, seed: "0xa2f18" },
  { rule: "version of a claim", breaks: "Exclusion", ...SHORT, seed: "0x408f" },
  { rule: "holder of a release", breaks: "Exclusion", ...LONG, seed: "0x52cad4" },
  { rule: "answers after the deadline", breaks: "LostIsFinal", ...SHORT, seed: "0xf4f" },
  { rule: "fence after a release", breaks: "FenceGrows", ...LONG, seed: "0x4097" },
];
