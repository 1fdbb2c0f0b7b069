// Asks Z3 whether the invariant holds at the start, and whether each step keeps it.
//
// For any number of grants: a clause and a step name a few grants, renewals and records. Z3 gets the invariant for these alone, and
// for those that they name in turn (the holder, its session, ...); each of them stands for any. So Z3 assumes less than
// the invariant, and what it then finds impossible is impossible.

// Z3 decides linear arithmetic with functions. It is WebAssembly of 35 MB, for development only, and needs no installation.
import { init } from "z3-solver";
import { FOLLOWS, measuredWith } from "./clocks.mjs";
import { CLAUSES, PROPERTIES } from "./invariant.mjs";
import { after, anyState, DECLARATIONS, firstState, fixed, stepsOf } from "./protocol.mjs";
import { not } from "./terms.mjs";

let api;

/** Runs SMT-LIB, and returns what Z3 prints. Throws on what Z3 does not understand. */
export async function solve(lines) {
  api ??= await init();
  const { Z3, em } = api;
  const config = Z3.mk_config();
  const context = Z3.mk_context(config);
  const types = ["number", "string"];
  // The package's own call of this function runs in a thread, and its text is overwritten before the thread has read it.
  const text = lines.flat(Number.POSITIVE_INFINITY).join("\n");
  const output = em.ccall("Z3_eval_smtlib2_string", "string", types, [context, text]);
  Z3.del_context(context);
  Z3.del_config(config);
  if (output.includes("(error")) throw new Error(`Z3: ${output.slice(0, 1_000)}`);
  return output.trim();
}

export const constants = (names, sort) => names.map((name) => `(declare-const ${name} ${sort})`);
export const assertion = (term) => `(assert ${term})`;
const ask = (term) => ["(push)", assertion(term), "(check-sat)", "(pop)"];

/** The grants, renewals and records that a step or a clause names. `g` and `r` are the step's. */
export const NAMED = { Grant: ["g", "x", "y"], Renewal: ["r", "q"], Record: ["k"] };
const NAMED_CONSTANTS = Object.entries(NAMED).map(([sort, names]) => constants(names, sort));

/** The unknowns of a step, under a prefix, and its parameters by name. */
export function parametersOf({ reals = [], bools = [], witnesses: count = 0 }, prefix = "step.") {
  const named = (name) => prefix + name;
  const witnesses = Array.from({ length: count }, (_, n) => ({
    ...{ date: named(`date${n + 1}`), asked: named(`asked${n + 1}`) },
    ...{ shown: named(`shown${n + 1}`), counted: named(`counted${n + 1}`) },
  }));
  const numbers = [...reals.map(named), ...witnesses.flatMap((one) => Object.values(one))];
  const own = [...reals, ...bools].map((name) => [name, named(name)]);
  return {
    declarations: [constants(numbers, "Real"), constants(bools.map(named), "Bool")],
    parameters: { g: "g", r: "r", witnesses, ...Object.fromEntries(own) },
    names: [...numbers, ...bools.map(named)],
  };
}

/** The terms for which the invariant of this state is assumed. */
function termsOf(state) {
  const { rec, of, session, seenHolder, seenSession } = fixed;
  const few = [...NAMED.Grant, ...NAMED.Renewal.map(of)];
  const records = [...NAMED.Record, ...few.map(rec)];
  const named = few.flatMap((g) => [session(g), seenHolder(g), seenSession(g)]);
  const holding = records.flatMap((k) => [state.holder(k), state.onSession(k)]);
  const Grant = [...new Set([...few, ...named, ...holding])];
  const Renewal = [...NAMED.Renewal, ...few.map((g) => state.current(g))];
  return { few, Grant, Renewal, Record: [...new Set([...records, ...Grant.map(rec)])] };
}

/** What the clauses say of these terms. A clause about two grants is about the few. */
export function instances(clauses, state, terms) {
  return Object.values(clauses).flatMap(({ about, holds }) => {
    if (holds === undefined) return [];
    if (about[0] === about[1])
      return terms.few.flatMap((g) => terms.few.map((other) => holds(state, g, other)));
    // The parts of a clause about several sorts are each about one of them, so the n-th terms of all go together.
    const most = Math.max(...about.map((sort) => terms[sort].length));
    const nth = (n) => about.map((sort) => terms[sort][n % terms[sort].length]);
    return Array.from({ length: most }, (_, n) => holds(state, ...nth(n)));
  });
}

/** What a clause says of any grants, renewals and records: of `x` and `y`, `q` and `k`. */
export function ofAny({ about, holds, holdsOf }, before, next) {
  const grants = ["x", "y"];
  const any = about.map((sort) =>
    ({ Grant: () => grants.shift(), Renewal: () => "q", Record: () => "k" })[sort](),
  );
  return holds === undefined ? holdsOf(before, next, ...any) : holds(next, ...any);
}

async function answersTo(lines, questions) {
  const names = Object.keys(questions);
  const output = await solve([lines, ...names.map((name) => ask(questions[name]))]);
  const answers = output.split("\n");
  return Object.fromEntries(names.map((name, index) => [name, answers[index]]));
}

const negated = (clauses, before, next) =>
  Object.fromEntries(
    Object.entries(clauses).map(([name, clause]) => [name, not(ofAny(clause, before, next))]),
  );

/** Whether what the rules measure shows what must follow, with any bound on the drift up to a half. `unsat`: it does. */
export async function clocksShow(broken) {
  const reals = "drift now until from length waited bound end".split(" ");
  const pairs = ["clock1", "clock2", "wait1", "wait2"];
  const { declarations, parameters } = parametersOf({ reals: [...reals, ...pairs], witnesses: 2 });
  const { drift, clock1, clock2, wait1, wait2 } = parameters;
  const facts = { ...parameters, clocks: [clock1, clock2], waits: [wait1, wait2] };
  const measured = measuredWith(drift, broken);
  const questions = Object.entries(FOLLOWS).map(([name, follows]) => [
    name,
    `(and ${measured[name](facts)} ${not(follows(facts))})`,
  ]);
  const lines = [
    DECLARATIONS,
    declarations,
    assertion(`(and (<= 0.0 ${drift}) (<= ${drift} 0.5))`),
  ];
  return answersTo(lines, Object.fromEntries(questions));
}

/** Whether the invariant holds before the first request. `unsat`: it does. */
export async function startHolds() {
  const first = firstState("");
  const start = [...[DECLARATIONS, first.declarations, NAMED_CONSTANTS], assertion("(<= 0.0 now)")];
  const { final: _, ...clauses } = CLAUSES;
  return answersTo(start, negated(clauses, first.state, first.state));
}

/** Whether the invariant has what it is for. `unsat`: it does. */
export async function propertiesFollow() {
  const { state, declarations } = anyState("");
  const assumed = instances(CLAUSES, state, termsOf(state)).map(assertion);
  const lines = [DECLARATIONS, declarations, NAMED_CONSTANTS, assumed];
  return answersTo(lines, negated(PROPERTIES, state, state));
}

/** Whether a step keeps each clause. `unsat`: it does. */
export async function stepKeeps(name, broken) {
  const step = stepsOf(FOLLOWS, broken)[name];
  const { state, declarations } = anyState("");
  const unknown = parametersOf(step);
  const lines = [
    ...[DECLARATIONS, declarations, NAMED_CONSTANTS, unknown.declarations],
    instances(CLAUSES, state, termsOf(state)).map(assertion),
    assertion(step.may(state, unknown.parameters)),
  ];
  return answersTo(lines, negated(CLAUSES, state, after(state, step, unknown.parameters)));
}
