// Runs that the rules permit, from the start: a proof about steps that never happen would show nothing.

import { measuredWith } from "./clocks.mjs";
import {
  after,
  believes,
  CHANGING,
  DECLARATIONS,
  firstState,
  fixed,
  stepsOf,
} from "./protocol.mjs";
import { assertion, constants, parametersOf, solve } from "./prove.mjs";
import { shown, valuesOf } from "./show.mjs";
import { all, atMost, not, plus, same } from "./terms.mjs";

/** How long each lease is, and at least how long a watch of it lasts in true time. */
const LEASE = "30000.0";
const WATCH = "30297.0";
const isWatched = (g) => atMost(plus(watchedFrom(g), WATCH), sentAt(g));

const { byHolder, claims, of, rec, seenHasEnd, sentAt, watchedFrom } = fixed;

const HOLDS = ["send a", "grant a", "answer a"];
const RENEWS = ["renew r", "keep r", "renewed r"];
const TAKES = ["send b", "grant b", "answer b"];

/** In each, `b` becomes the holder after `a`. `s` is a session, `e` the write that ends it. */
export const WITNESSES = [
  {
    name: "a takeover after a watch",
    steps: [...HOLDS, ...RENEWS, "look b", "wait", ...TAKES],
    if: [isWatched("b"), not(seenHasEnd("b")), same(of("r"), "a")],
  },
  {
    name: "a takeover at first sight",
    steps: [...HOLDS, ...RENEWS, "wait", "look b", ...TAKES],
    if: [
      ...[
        same(watchedFrom("b"), sentAt("b")),
        same(of("r"), "a"),
        fixed.renewsEnd("r"),
        seenHasEnd("b"),
      ],
      atMost(plus(fixed.seenEnd("b"), "clockError"), sentAt("b")),
    ],
  },
  {
    name: "a takeover after the end of a session",
    steps: [
      ...["send s", "grant s", "answer s", ...HOLDS, "move m", "settle m", "moved m"],
      ...["look e", "look b", "wait", "send e", "end e", ...TAKES],
    ],
    if: [isWatched("e"), same(of("m"), "a"), same(fixed.session("a"), "s")],
  },
  {
    name: "a forced release",
    steps: [...HOLDS, "ask a", "obey a", "release a", ...TAKES],
    if: [claims("b")],
  },
  {
    name: "a hand-off",
    steps: [...HOLDS, "look b", "stop a", ...TAKES],
    if: [byHolder("b")],
  },
];

const ELEMENTS = [
  ...["a", "b", "s", "e"].map((name) => ["Grant", name]),
  ...["r", "m"].map((name) => ["Renewal", name]),
];

/** The state after a step, and the definitions of its values; a formula of the whole run would be endless. */
function named(state, next, prefix) {
  const definitions = [`(define-fun ${prefix}now () Real ${next.now})`];
  const result = { ...state, now: `${prefix}now` };
  for (const [name, [from, to]] of Object.entries(CHANGING)) {
    if (next[name] === state[name]) continue;
    definitions.push(`(define-fun ${prefix}${name} ((it ${from})) ${to} ${next[name]("it")})`);
    result[name] = (it) => `(${prefix}${name} ${it})`;
  }
  return { state: result, definitions };
}

/** A run with these steps, in which `b` holds at the end: each with its instant. Undefined if the rules forbid it. */
export async function run({ steps, if: conditions }) {
  const rules = stepsOf(measuredWith("0.01"));
  const first = firstState("");
  let { state } = first;
  const lines = [
    ...[DECLARATIONS, first.declarations],
    ELEMENTS.map(([sort, name]) => constants([name], sort)),
    "(assert (distinct nobody a b s e))",
    assertion(all(same(rec("a"), rec("b")), same(first.state.now, "0.0"), ...conditions)),
    assertion(all(same("bootStep", "10.0"), same("clockError", "10000.0"))),
    ["a", "b", "s"].map((g) => assertion(same(fixed.len(g), LEASE))),
  ];
  const instants = [];
  steps.forEach((one, index) => {
    const [kind, element] = one.split(" ");
    const unknown = parametersOf(rules[kind], `step${index}.`);
    const parameters = { ...unknown.parameters, g: element, r: element };
    instants.push(state.now);
    lines.push(unknown.declarations, assertion(rules[kind].may(state, parameters)));
    const next = named(state, after(state, rules[kind], parameters), `after${index}.`);
    lines.push(next.definitions);
    state = next.state;
  });
  lines.push(assertion(all(believes(state, "b"), not(believes(state, "a")))), "(check-sat)");
  if ((await solve(lines)) !== "sat") return undefined;
  const output = await solve([lines, `(get-value (${instants.join(" ")}))`]);
  const values = valuesOf(instants, output.replace(/^sat\s*/, ""));
  return steps.map((one, index) => `${shown(instants[index], values, [])} ${one}`);
}
