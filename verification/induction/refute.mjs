// What a broken rule breaks: a state in which the whole invariant holds, a step, and the state after it, in which a clause
// does not hold. Here the named grants, renewals and records are all there are, and the invariant holds for each of them.

import { measuredWith } from "./clocks.mjs";
import { CLAUSES } from "./invariant.mjs";
import { after, anyState, CHANGING, DECLARATIONS, FIXED, fixed, stepsOf } from "./protocol.mjs";
import { assertion, constants, instances, ofAny, parametersOf, solve } from "./prove.mjs";
import { linesOf, shown, termsOf, valuesOf } from "./show.mjs";
import { all, any, not, same } from "./terms.mjs";

/** In a counter-example a clock drifts by one percent at most, the default. */
const DRIFT = "0.01";

const ALL = {
  Grant: ["nobody", "g", "x", "y", "z"],
  Renewal: ["noRenewal", "r", "q"],
  Record: ["k", "l"],
};
const ELEMENTS = Object.entries(ALL).flatMap(([sort, names]) => names.map((name) => [sort, name]));
const DECLARED = ELEMENTS.filter(([, name]) => !name.startsWith("no")).map(([sort, name]) =>
  constants([name], sort),
);

/** Milliseconds that people know: leases of 5 or 30 s, a boot clock of Linux or macOS, the default `maxClockError`. */
const LIKE_REAL_ONES = [
  all(any(same("bootStep", "10.0"), same("bootStep", "1000.0")), same("clockError", "10000.0")),
  ...ALL.Grant.map((g) => any(same(fixed.len(g), "5000.0"), same(fixed.len(g), "30000.0"))),
].map(assertion);

/** No function leads to an element without a name. */
function closed(state) {
  const functions = Object.entries({ ...FIXED, ...CHANGING });
  return functions
    .filter(([, [, to]]) => ALL[to] !== undefined)
    .flatMap(([name, [from, to]]) =>
      ALL[from].map((of) => {
        const value = (state[name] ?? fixed[name])(of);
        return any(...ALL[to].map((one) => same(value, one)));
      }),
    );
}

/** The text of a step with a rule broken, from a state in which the invariant holds. */
function stepOf(kind, broken) {
  const step = stepsOf(measuredWith(DRIFT, broken), broken)[kind];
  const { state, declarations } = anyState("");
  const unknown = parametersOf(step);
  const lines = [
    ...[DECLARATIONS, declarations, DECLARED, unknown.declarations, LIKE_REAL_ONES],
    [...closed(state), ...instances(CLAUSES, state, { ...ALL, few: ALL.Grant })].map(assertion),
    assertion(step.may(state, unknown.parameters)),
  ];
  return { step, state, unknown, lines, next: after(state, step, unknown.parameters) };
}

/** Whether a step is possible from a state in which the invariant holds: otherwise it would keep any clause. */
export async function isPossible(kind) {
  return (await solve([stepOf(kind).lines, "(check-sat)"])) === "sat";
}

/**
 * Finds a step that breaks a clause because a rule is broken, and describes it: the state before, the step, the state
 * after. Undefined if no step does.
 */
export async function counterExample({ name, step: kind, breaks }) {
  const { step, state, unknown, lines, next } = stepOf(kind, name);
  const broken = [lines, assertion(not(ofAny(CLAUSES[breaks], state, next))), "(check-sat)"];
  if ((await solve(broken)) !== "sat") return undefined;
  const own = ["bootStep", "clockError", state.now, next.now, ...unknown.names];
  const terms = [...new Set([...own, ...termsOf(ELEMENTS, state), ...termsOf(ELEMENTS, next)])];
  const output = await solve([broken, `(get-value (${terms.join("\n")}))`]);
  const values = valuesOf(terms, output.replace(/^sat\s*/, ""));
  const tell = (term) => shown(term, values, ELEMENTS);
  const before = [`now ${tell(state.now)}`, ...linesOf(ELEMENTS, state, values)];
  const changed = [`now ${tell(next.now)}`, ...linesOf(ELEMENTS, next, values)];
  const subject = step.of === "renewal" ? "r" : "g";
  return {
    before,
    step: [
      step.of === "time" ? kind : `${kind} ${tell(subject)}`,
      ...own
        .filter((term) => term.includes("."))
        .map((term) => `${term.replace("step.", "")} ${tell(term)}`),
    ].join(", "),
    after: changed.filter((line) => !before.includes(line)),
    about: CLAUSES[breaks].about.map((sort) =>
      tell({ Grant: "x", Renewal: "q", Record: "k" }[sort]),
    ),
  };
}
