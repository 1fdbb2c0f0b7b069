// The rules of the lease as steps, for any number of grants, records and sessions. spec/protocol.md has the rules; the
// number beside a step is theirs.
//
// A state is a set of functions: of a grant, of a renewal, of a record. A step says when it is possible, and which values
// change. A grant is one attempt of one process for one record, under an id of its own; a process makes any number of them.
// A session is a grant of a record of its own, its row: so the same steps and the same invariant cover both.
//
// A request is never removed: the table can apply it at any time after its send, again and again, or never. So requests
// are lost, late and doubled, and a process that never takes another step is dead. Processes that pause take no step.
// `now` is the true time, in milliseconds, which no process reads.

import {
  all,
  any,
  apply,
  atMost,
  choose,
  differ,
  implies,
  less,
  not,
  plus,
  same,
} from "./terms.mjs";

/** What is decided once: by the attempt, at its send, or by what it saw. */
export const FIXED = {
  rec: ["Grant", "Record"],
  isSession: ["Grant", "Bool"],
  /** Whether the write claims a free record. Otherwise it names the holder that its client has seen. */
  claims: ["Grant", "Bool"],
  /** Whether the write frees the record, as the end of a session does, in place of a grant. */
  frees: ["Grant", "Bool"],
  /** Whether the condition names only the seen holder: a hand-off, an import, or the takeover of an abandoned id. */
  byHolder: ["Grant", "Bool"],
  sentAt: ["Grant", "Real"],
  len: ["Grant", "Real"],
  hasEnd: ["Grant", "Bool"],
  end: ["Grant", "Real"],
  session: ["Grant", "Grant"],
  seenHolder: ["Grant", "Grant"],
  seenVersion: ["Grant", "Int"],
  seenSession: ["Grant", "Grant"],
  seenLen: ["Grant", "Real"],
  seenHasEnd: ["Grant", "Bool"],
  seenEnd: ["Grant", "Real"],
  watchedFrom: ["Grant", "Real"],
  of: ["Renewal", "Grant"],
  renewedAt: ["Renewal", "Real"],
  isMove: ["Renewal", "Bool"],
  atVersion: ["Renewal", "Int"],
  renewsEnd: ["Renewal", "Bool"],
  newEnd: ["Renewal", "Real"],
  isRow: ["Record", "Bool"],
};

/** What changes, with the value at the start. */
export const CHANGING = {
  seen: ["Grant", "Bool", "false"],
  sent: ["Grant", "Bool", "false"],
  /** Whether the table has applied it; then the fence and the number of the grant in the answer that will arrive. */
  granted: ["Grant", "Bool", "false"],
  fence: ["Grant", "Int", "0"],
  number: ["Grant", "Int", "0"],
  held: ["Grant", "Bool", "false"],
  over: ["Grant", "Bool", "false"],
  until: ["Grant", "Real", "0.0"],
  /** Whether a write of this grant set an end, or may set one. */
  setsEnd: ["Grant", "Bool", "false"],
  moving: ["Grant", "Bool", "false"],
  moved: ["Grant", "Bool", "false"],
  current: ["Grant", "Renewal", "noRenewal"],
  asked: ["Grant", "Bool", "false"],
  obeyed: ["Grant", "Bool", "false"],
  renewalSent: ["Renewal", "Bool", "false"],
  applied: ["Renewal", "Bool", "false"],
  holder: ["Record", "Grant", "nobody"],
  version: ["Record", "Int", "0"],
  highest: ["Record", "Int", undefined],
  grants: ["Record", "Int", "0"],
  onSession: ["Record", "Grant", "nobody"],
  length: ["Record", "Real", "0.0"],
  ends: ["Record", "Bool", "false"],
  endsAt: ["Record", "Real", "0.0"],
  /** The true time of the write of this version. */
  writtenAt: ["Record", "Real", "0.0"],
  request: ["Record", "Grant", "nobody"],
};

export const DECLARATIONS = [
  "(declare-sort Grant 0)",
  "(declare-sort Renewal 0)",
  "(declare-sort Record 0)",
  "(declare-const nobody Grant)",
  "(declare-const noRenewal Renewal)",
  // The bounds of the assumptions: the step of the boot clock, and the error of the servers' clocks.
  "(declare-const bootStep Real)",
  "(declare-const clockError Real)",
  "(assert (and (<= 0.0 bootStep) (<= 0.0 clockError)))",
  ...Object.entries(FIXED).map(([name, [of, to]]) => `(declare-fun ${name} (${of}) ${to})`),
];

/** Functions of fixed values, by their names above. */
export const fixed = Object.fromEntries(
  Object.keys(FIXED).map((name) => [name, (of) => apply(name, of)]),
);

/** A state whose values are unknown, and its declarations. */
export function anyState(prefix) {
  const names = Object.entries(CHANGING);
  const state = Object.fromEntries(names.map(([name]) => [name, (of) => apply(prefix + name, of)]));
  const declarations = names.map(
    ([name, [of, to]]) => `(declare-fun ${prefix}${name} (${of}) ${to})`,
  );
  return {
    state: { ...state, now: `${prefix}now` },
    declarations: [...declarations, `(declare-const ${prefix}now Real)`],
  };
}

/** The state before the first request. The fence of an absent record is whatever its first claim starts from. */
export function firstState(prefix) {
  const { state, declarations } = anyState(prefix);
  for (const [name, [, , start]] of Object.entries(CHANGING)) {
    if (start !== undefined) state[name] = () => start;
  }
  return { state, declarations };
}

/** Whether a session, or a lease on none, is alive at an instant. */
const isWithin = (state, g) => less(state.now, state.until(g));
const isOpen = (state, g) => all(state.held(g), not(state.over(g)));
const lives = (state, s) => all(isOpen(state, s), isWithin(state, s));

/** Whether the deadlines of a held grant are still ahead: its own, its session's, or the earlier of both (49). */
export function isAlive(state, g) {
  return all(
    any(state.moved(g), isWithin(state, g)),
    implies(state.moving(g), lives(state, fixed.session(g))),
  );
}

/** Whether a process counts itself as the holder under this grant. */
export const believes = (state, g) => all(isOpen(state, g), isAlive(state, g));

/** A session's row never has a holder again. */
export const hasEnded = (state, s) => all(state.granted(s), differ(state.holder(fixed.rec(s)), s));

/** The table's condition of a takeover, a hand-off or an end of a session (16, 33, 52). */
export function isAsSeen(state, g) {
  const k = fixed.rec(g);
  return all(
    differ(fixed.seenHolder(g), "nobody"),
    same(state.holder(k), fixed.seenHolder(g)),
    any(
      fixed.byHolder(g),
      all(
        same(state.version(k), fixed.seenVersion(g)),
        same(state.onSession(k), fixed.seenSession(g)),
      ),
    ),
  );
}

/** A state in which some functions have another value for one argument. */
function changed(state, changes) {
  const next = { ...state };
  for (const [name, [argument, value]] of Object.entries(changes)) {
    if (argument === undefined) next[name] = value;
    else next[name] = (of) => choose(same(of, argument), value, state[name](of));
  }
  // The first question after a deadline ends the lease for good; so does the loss of its session (45, 54).
  const open = next.over;
  next.over = (g) => any(open(g), all(next.held(g), not(isAlive({ ...next, over: open }, g))));
  return next;
}

/**
 * Makes the steps of the protocol. `facts`: what the clocks show (clocks.mjs). `broken`: the name of the one rule that the
 * steps do not keep (broken.mjs), or undefined.
 */
export function stepsOf(facts, broken) {
  const unless = (name, kept, instead = "true") => (broken === name ? instead : kept);
  const { rec, of, sentAt, len, watchedFrom, session } = fixed;

  /** When a client may send a write that names the holder that it has seen. */
  function mayReplace(state, g, { witnesses, waited, waits }) {
    const { now } = state;
    const isOnSession = differ(fixed.seenSession(g), "nobody");
    return all(
      state.seen(g),
      differ(fixed.seenHolder(g), "nobody"),
      implies(
        fixed.byHolder(g),
        unless("a hand-off before the end", state.over(fixed.seenHolder(g))),
      ),
      any(
        // An id that this process has ended, or abandoned (17, 33).
        unless("a hand-off before the end", state.over(fixed.seenHolder(g)), fixed.byHolder(g)),
        all(
          unless("the record of a session is watched", not(isOnSession)),
          any(
            facts.isWatched({
              ...{ now, waited, from: watchedFrom(g) },
              length: unless("a watch of the waiter's own length", fixed.seenLen(g), len(g)),
            }),
            all(
              fixed.seenHasEnd(g),
              facts.isPast({ now, end: fixed.seenEnd(g), witnesses, waits }),
            ),
          ),
        ),
        // A session is judged by its own row, and ended first (51, 52).
        all(
          isOnSession,
          unless("a session is not ended first", hasEnded(state, fixed.seenSession(g))),
        ),
      ),
    );
  }

  /** The changes of a record by a write that raises its version. */
  const rewritten = (
    state,
    k,
    { holder, version = plus(state.version(k), "1"), onSession = "nobody" },
  ) => ({
    holder: [k, holder],
    version: [k, version],
    onSession: [k, onSession],
    writtenAt: [k, state.now],
  });

  return {
    /** Time passes. */
    wait: {
      of: "time",
      reals: ["later"],
      may: (state, { later }) => less(state.now, later),
      next: (_, { later }) => ({ now: [undefined, later] }),
    },

    /**
     * An answer arrives that shows the record, as it is or as it was (40, 41). `asked`: when the read was sent.
     */
    look: {
      of: "grant",
      reals: ["asked"],
      may(state, { g, asked }) {
        const k = rec(g);
        return all(
          differ(g, "nobody"),
          not(state.seen(g)),
          not(state.sent(g)),
          atMost(asked, state.now),
          same(watchedFrom(g), unless("a watch from the send of the read", state.now, asked)),
          any(
            less(fixed.seenVersion(g), state.version(k)),
            all(
              same(fixed.seenVersion(g), state.version(k)),
              same(fixed.seenHolder(g), state.holder(k)),
              same(fixed.seenSession(g), state.onSession(k)),
              same(fixed.seenLen(g), state.length(k)),
              same(fixed.seenHasEnd(g), state.ends(k)),
              same(fixed.seenEnd(g), state.endsAt(k)),
            ),
          ),
        );
      },
      next: (_, { g }) => ({ seen: [g, "true"] }),
    },

    /** The first send of a claim, a takeover, a hand-off, or an end of a session. */
    send: {
      of: "grant",
      reals: ["waited", "wait1", "wait2"],
      witnesses: 2,
      may(state, { g, witnesses, waited, wait1, wait2 }) {
        const waits = [wait1, wait2];
        return all(
          differ(g, "nobody"),
          not(state.sent(g)),
          not(state.over(g)),
          same(sentAt(g), state.now),
          less("0.0", len(g)),
          // A session's row is created once, and is never taken over: a client may only end it (46).
          same(fixed.isSession(g), all(fixed.isRow(rec(g)), fixed.claims(g))),
          implies(
            all(fixed.isRow(rec(g)), not(fixed.claims(g))),
            fixed.frees(g),
            not(fixed.byHolder(g)),
          ),
          implies(fixed.claims(g), not(fixed.frees(g)), not(fixed.byHolder(g))),
          any(fixed.claims(g), mayReplace(state, g, { witnesses, waited, waits })),
        );
      },
      next: (_, { g }) => ({ sent: [g, "true"], setsEnd: [g, fixed.hasEnd(g)] }),
    },

    /** The table applies a claim, takeover or hand-off: perhaps a copy. `renumbers`: whether this answer will arrive. */
    grant: {
      of: "grant",
      bools: ["renumbers"],
      may(state, { g }) {
        const k = rec(g);
        return all(
          state.sent(g),
          not(fixed.frees(g)),
          unless(
            "a grant without its condition",
            choose(
              fixed.claims(g),
              all(
                same(state.holder(k), "nobody"),
                same(state.onSession(k), "nobody"),
                unless(
                  "an ended session is created again",
                  implies(fixed.isSession(g), same(state.version(k), "0")),
                ),
              ),
              broken === "a takeover without the version"
                ? all(
                    differ(fixed.seenHolder(g), "nobody"),
                    same(state.holder(k), fixed.seenHolder(g)),
                  )
                : isAsSeen(state, g),
            ),
          ),
        );
      },
      next(state, { g, renumbers }) {
        const k = rec(g);
        const isFirst = any(not(state.granted(g)), renumbers);
        const highest = unless(
          "a grant does not raise the fence",
          plus(state.highest(k), "1"),
          state.highest(k),
        );
        const grants = plus(state.grants(k), "1");
        return {
          ...rewritten(state, k, {
            holder: g,
            version: unless("a grant does not raise the version", undefined, state.version(k)),
            onSession: unless("a grant keeps the session", undefined, state.onSession(k)),
          }),
          highest: [k, highest],
          grants: [k, grants],
          length: [k, len(g)],
          ends: [k, fixed.hasEnd(g)],
          endsAt: [k, fixed.end(g)],
          granted: [g, "true"],
          fence: [g, choose(isFirst, highest, state.fence(g))],
          number: [g, choose(isFirst, grants, state.number(g))],
        };
      },
    },

    /** The table applies a write that frees a record as watched (52): a session ends. */
    end: {
      of: "grant",
      may: (state, { g }) =>
        all(state.sent(g), fixed.frees(g), not(fixed.claims(g)), isAsSeen(state, g)),
      next: (_, { g }) => ({ holder: [rec(g), "nobody"], onSession: [rec(g), "nobody"] }),
    },

    /** The answer to a grant, which shows this holder. The process gets the lease if its deadline is ahead (14, 43, 94). */
    answer: {
      of: "grant",
      reals: ["until", "clock1", "clock2"],
      witnesses: 2,
      may(state, { g, until, clock1, clock2, witnesses }) {
        const from = unless("a deadline from the answer", sentAt(g), state.now);
        return all(
          state.granted(g),
          not(state.held(g)),
          not(state.over(g)),
          less(state.now, until),
          facts.counts({ until, from, length: len(g), clocks: [clock1, clock2] }),
          implies(
            fixed.hasEnd(g),
            unless(
              "a deadline past the end",
              facts.isBeforeEnd({ now: state.now, until, end: fixed.end(g), witnesses }),
            ),
          ),
        );
      },
      next: (_, { g, until }) => ({ held: [g, "true"], until: [g, until] }),
    },

    /** A lease, or an attempt, ends in its process: a release, a cancellation, a loss, a crash. */
    stop: {
      of: "grant",
      may: (_, { g }) => differ(g, "nobody"),
      next: (_, { g }) => ({ over: [g, "true"] }),
    },

    /** The table applies a release, or a rollback, of an ended grant (29, 30, 38). */
    release: {
      of: "grant",
      may: (state, { g }) =>
        all(
          differ(g, "nobody"),
          same(state.holder(rec(g)), g),
          unless("a release before the end", state.over(g), isOpen(state, g)),
        ),
      next: (_, { g }) => ({ holder: [rec(g), "nobody"], onSession: [rec(g), "nobody"] }),
    },

    /** A holder sends a renewal. Later writes of the grant do not wait for its answer: it no longer counts (23). */
    renew: {
      of: "renewal",
      reals: ["bound"],
      witnesses: 2,
      may(state, { r, bound, witnesses }) {
        const g = of(r);
        return all(
          believes(state, g),
          not(state.moving(g)),
          not(fixed.isMove(r)),
          not(state.renewalSent(r)),
          differ(r, "noRenewal"),
          same(fixed.renewedAt(r), state.now),
          choose(
            fixed.renewsEnd(r),
            all(
              facts.isBound({ now: state.now, bound, witnesses }),
              atMost(plus(bound, len(g)), fixed.newEnd(r)),
            ),
            unless("a renewal without an end after one with", not(state.setsEnd(g))),
          ),
        );
      },
      next(state, { r }) {
        const g = of(r);
        return {
          renewalSent: [r, "true"],
          current: [g, r],
          setsEnd: [g, any(state.setsEnd(g), fixed.renewsEnd(r))],
        };
      },
    },

    /** The table applies a renewal, perhaps late or again (18, 19, 93). */
    keep: {
      of: "renewal",
      may(state, { r }) {
        const [g, k] = [of(r), rec(of(r))];
        return all(
          state.renewalSent(r),
          not(fixed.isMove(r)),
          unless("a renewal of another's record", same(state.holder(k), g)),
          unless("a renewal of another's record", same(state.highest(k), state.fence(g))),
          unless("a renewal of a moved record", same(state.onSession(k), "nobody")),
          unless(
            "an older renewal moves the end back",
            implies(state.ends(k), fixed.renewsEnd(r), atMost(state.endsAt(k), fixed.newEnd(r))),
          ),
        );
      },
      next(state, { r }) {
        const k = rec(of(r));
        return {
          ...rewritten(state, k, {
            holder: of(r),
            version: unless("a renewal does not raise the version", undefined, state.version(k)),
          }),
          ends: [k, fixed.renewsEnd(r)],
          endsAt: [k, fixed.newEnd(r)],
          applied: [r, "true"],
        };
      },
    },

    /** The answer to the last renewal shows its mark: the deadline moves (20, 22, 43, 94). */
    renewed: {
      of: "renewal",
      reals: ["until", "clock1", "clock2"],
      witnesses: 2,
      may(state, { r, until, clock1, clock2, witnesses }) {
        const g = of(r);
        const from = unless("a deadline from the answer", fixed.renewedAt(r), state.now);
        return all(
          unless("a renewal without its mark", state.applied(r), state.renewalSent(r)),
          not(fixed.isMove(r)),
          unless("an answer to an earlier renewal", same(state.current(g), r)),
          unless("an answer after the deadline", believes(state, g), state.held(g)),
          not(state.moved(g)),
          less(state.now, until),
          facts.counts({ until, from, length: len(g), clocks: [clock1, clock2] }),
          implies(
            fixed.renewsEnd(r),
            unless(
              "a deadline past the end",
              facts.isBeforeEnd({ now: state.now, until, end: fixed.newEnd(r), witnesses }),
            ),
          ),
        );
      },
      next: (_, { r, until }) => ({
        until: [of(r), until],
        ...(broken === "an answer after the deadline" ? { over: [of(r), "false"] } : {}),
      }),
    },

    /** A holder sends the move of its lease to a session of its process (47, 48). */
    move: {
      of: "renewal",
      may(state, { r }) {
        const g = of(r);
        return all(
          believes(state, g),
          not(fixed.isSession(g)),
          not(state.moved(g)),
          fixed.isMove(r),
          not(state.renewalSent(r)),
          differ(r, "noRenewal"),
          same(fixed.renewedAt(r), state.now),
          fixed.isSession(session(g)),
          lives(state, session(g)),
        );
      },
      next: (_, { r }) => ({
        renewalSent: [r, "true"],
        current: [of(r), r],
        moving: [of(r), unless("the lease alone counts while it moves", "true", "false")],
      }),
    },

    /** The table applies a move. */
    settle: {
      of: "renewal",
      may(state, { r }) {
        const [g, k] = [of(r), rec(of(r))];
        return all(
          state.renewalSent(r),
          fixed.isMove(r),
          same(state.holder(k), g),
          same(state.highest(k), state.fence(g)),
          same(state.version(k), fixed.atVersion(r)),
          same(state.onSession(k), "nobody"),
        );
      },
      next(state, { r }) {
        const [g, k] = [of(r), rec(of(r))];
        return {
          ...rewritten(state, k, { holder: g, onSession: session(g) }),
          length: [k, len(session(g))],
          ends: [k, "false"],
          applied: [r, "true"],
        };
      },
    },

    /** The answer to a move: from now on the session alone counts (49). */
    moved: {
      of: "renewal",
      may(state, { r }) {
        return all(
          unless("a move without its answer", state.applied(r), state.renewalSent(r)),
          fixed.isMove(r),
          same(state.current(of(r)), r),
          believes(state, of(r)),
        );
      },
      next: (_, { r }) => ({ moved: [of(r), "true"], moving: [of(r), "true"] }),
    },

    /** An operator's request to release is written: it requires the addressed holder, and changes nothing else (63). */
    ask: {
      of: "grant",
      may: (state, { g }) =>
        all(
          differ(g, "nobody"),
          unless("a request to whoever holds", same(state.holder(rec(g)), g)),
        ),
      next: (state, { g }) => ({
        asked: [g, "true"],
        request: [rec(g), unless("a request to whoever holds", g, state.holder(rec(g)))],
      }),
    },

    /** A holder sees a request to itself in an answer, and ends (64). */
    obey: {
      of: "grant",
      may: (state, { g }) =>
        all(
          state.held(g),
          unless(
            "a request reaches the next holder",
            same(state.request(rec(g)), g),
            all(same(state.holder(rec(g)), g), differ(state.request(rec(g)), "nobody")),
          ),
        ),
      next: (_, { g }) => ({ over: [g, "true"], obeyed: [g, "true"] }),
    },
  };
}

/** The state after a step. */
export function after(state, step, parameters) {
  const changes = step.next(state, parameters);
  return changed(state, changes);
}
