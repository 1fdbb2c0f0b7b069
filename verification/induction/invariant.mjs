// The inductive invariant: clauses about any grant, any renewal and any record. Their names and meanings are in
// spec/protocol.md, "The inductive invariant". Together they hold at the start, and after each step if before it.

import { believes, fixed, hasEnded, isAlive, isAsSeen } from "./protocol.mjs";
import { all, any, atMost, differ, implies, less, not, plus, same, times } from "./terms.mjs";

const { rec, of } = fixed;
const ERROR = times("0.5", "clockError");

/** Whether the deadline of a grant is ahead, before its answer as the process would count it then. */
const isWithin = (state, g) =>
  any(
    all(state.held(g), isAlive(state, g)),
    all(
      not(state.held(g)),
      less(state.now, plus(fixed.sentAt(g), fixed.len(g))),
      implies(fixed.hasEnd(g), less(state.now, plus(fixed.end(g), ERROR))),
    ),
  );

/** Whether the record names a grant that its process has not ended, with a lease of its own. */
const isOnOwnLease = (state, g) =>
  all(
    differ(g, "nobody"),
    same(state.holder(rec(g)), g),
    not(state.over(g)),
    same(state.onSession(rec(g)), "nobody"),
  );

/** Each clause: what it is about, and what must be true of each of them. */
export const CLAUSES = {
  named: {
    about: ["Grant"],
    holds: (state, g) =>
      all(
        implies(
          all(state.granted(g), not(state.over(g)), isWithin(state, g)),
          same(state.holder(rec(g)), g),
        ),
        implies(all(state.held(g), not(state.over(g))), isAlive(state, g)),
      ),
  },
  counted: {
    about: ["Grant"],
    holds(state, g) {
      const k = rec(g);
      const lastMs = plus(state.writtenAt(k), state.length(k));
      return implies(
        isOnOwnLease(state, g),
        not(state.moved(g)),
        same(state.length(k), fixed.len(g)),
        implies(
          state.held(g),
          atMost(state.until(g), lastMs),
          implies(state.ends(k), atMost(state.until(g), plus(state.endsAt(k), ERROR))),
        ),
        implies(
          not(state.held(g)),
          atMost(plus(fixed.sentAt(g), fixed.len(g)), lastMs),
          same(state.ends(k), fixed.hasEnd(g)),
          same(state.endsAt(k), fixed.end(g)),
        ),
      );
    },
  },
  adopted: {
    about: ["Record"],
    holds(state, k) {
      const [g, s] = [state.holder(k), state.onSession(k)];
      return all(
        implies(
          all(differ(g, "nobody"), differ(s, "nobody"), not(state.over(g))),
          state.moving(g),
          same(fixed.session(g), s),
        ),
        implies(same(g, "nobody"), same(s, "nobody")),
        implies(fixed.isRow(k), same(s, "nobody")),
      );
    },
  },
  watched: {
    about: ["Grant"],
    holds(state, g) {
      const k = rec(g);
      return implies(
        state.seen(g),
        atMost(fixed.seenVersion(g), state.version(k)),
        implies(
          all(
            same(fixed.seenVersion(g), state.version(k)),
            same(fixed.seenHolder(g), state.holder(k)),
            differ(fixed.seenHolder(g), "nobody"),
          ),
          atMost(state.writtenAt(k), fixed.watchedFrom(g)),
          same(fixed.seenSession(g), state.onSession(k)),
          same(fixed.seenLen(g), state.length(k)),
          same(fixed.seenHasEnd(g), state.ends(k)),
          same(fixed.seenEnd(g), state.endsAt(k)),
        ),
      );
    },
  },
  dead: {
    about: ["Grant"],
    holds(state, g) {
      const k = rec(g);
      return implies(
        all(state.sent(g), not(fixed.claims(g))),
        implies(fixed.byHolder(g), state.over(fixed.seenHolder(g))),
        atMost(fixed.seenVersion(g), state.version(k)),
        implies(
          isAsSeen(state, g),
          any(
            state.over(fixed.seenHolder(g)),
            all(
              same(state.onSession(k), "nobody"),
              any(
                atMost(plus(state.writtenAt(k), state.length(k)), state.now),
                all(state.ends(k), atMost(plus(state.endsAt(k), ERROR), state.now)),
              ),
            ),
            all(differ(state.onSession(k), "nobody"), hasEnded(state, state.onSession(k))),
          ),
        ),
      );
    },
  },
  acknowledged: {
    about: ["Renewal"],
    holds(state, r) {
      const g = of(r);
      const k = rec(g);
      return all(
        implies(
          all(state.applied(r), isOnOwnLease(state, g)),
          not(fixed.isMove(r)),
          atMost(fixed.renewedAt(r), state.writtenAt(k)),
          implies(fixed.renewsEnd(r), state.ends(k), atMost(fixed.newEnd(r), state.endsAt(k))),
        ),
        implies(
          all(state.moving(g), same(state.current(g), r), differ(r, "noRenewal")),
          fixed.isMove(r),
        ),
      );
    },
  },
  forward: {
    about: ["Renewal"],
    holds(state, r) {
      const g = of(r);
      const isPlain = all(state.renewalSent(r), not(fixed.isMove(r)));
      return all(
        implies(all(isPlain, fixed.renewsEnd(r)), state.setsEnd(g)),
        implies(all(state.sent(g), fixed.hasEnd(g)), state.setsEnd(g)),
        implies(
          all(isPlain, same(state.current(g), r), not(fixed.renewsEnd(r))),
          not(state.setsEnd(g)),
        ),
        implies(all(isOnOwnLease(state, g), state.ends(rec(g))), state.setsEnd(g)),
        implies(
          all(isPlain, fixed.renewsEnd(r), isOnOwnLease(state, g), not(state.ends(rec(g)))),
          atMost(state.until(g), plus(fixed.newEnd(r), ERROR)),
        ),
      );
    },
  },
  fenced: {
    about: ["Grant", "Grant"],
    holds(state, g, other) {
      const k = rec(g);
      const both = all(state.granted(g), state.granted(other), same(rec(other), k));
      return all(
        implies(
          state.granted(g),
          less("0", state.number(g)),
          atMost(state.number(g), state.grants(k)),
          implies(same(state.number(g), state.grants(k)), same(state.fence(g), state.highest(k))),
          implies(less(state.number(g), state.grants(k)), less(state.fence(g), state.highest(k))),
        ),
        implies(
          all(both, less(state.number(g), state.number(other))),
          less(state.fence(g), state.fence(other)),
        ),
        implies(all(both, same(state.number(g), state.number(other))), same(g, other)),
      );
    },
  },
  final: {
    about: ["Grant"],
    /** About a step: what has ended stays ended. */
    holdsOf: (before, after, g) =>
      all(
        implies(before.over(g), after.over(g)),
        implies(all(fixed.isSession(g), hasEnded(before, g)), hasEnded(after, g)),
      ),
  },
  asked: {
    about: ["Grant", "Record"],
    holds: (state, g, k) =>
      all(
        implies(state.obeyed(g), state.asked(g)),
        implies(differ(state.request(k), "nobody"), state.asked(state.request(k))),
      ),
  },
  ordered: {
    about: ["Grant", "Renewal", "Record"],
    holds: (state, g, r, k) =>
      all(
        not(any(state.sent("nobody"), state.held("nobody"), state.renewalSent("noRenewal"))),
        implies(state.held(g), state.granted(g), state.sent(g)),
        implies(state.granted(g), state.sent(g), not(fixed.frees(g))),
        implies(
          state.sent(g),
          atMost(fixed.sentAt(g), state.now),
          less("0.0", fixed.len(g)),
          same(fixed.isSession(g), all(fixed.isRow(rec(g)), fixed.claims(g))),
          implies(fixed.isRow(rec(g)), any(fixed.claims(g), fixed.frees(g))),
          implies(fixed.claims(g), not(fixed.byHolder(g)), not(fixed.frees(g))),
        ),
        implies(all(state.granted(g), fixed.isSession(g)), less("0", state.version(rec(g)))),
        implies(state.moved(g), state.moving(g)),
        implies(
          state.moving(g),
          state.held(g),
          not(fixed.isSession(g)),
          fixed.isSession(fixed.session(g)),
          state.held(fixed.session(g)),
        ),
        implies(state.applied(r), state.renewalSent(r)),
        implies(
          state.renewalSent(r),
          state.held(of(r)),
          atMost(fixed.renewedAt(r), state.now),
          implies(fixed.isMove(r), state.moving(of(r))),
        ),
        atMost(state.writtenAt(k), state.now),
        atMost("0", state.version(k)),
        atMost("0", state.grants(k)),
        implies(
          differ(state.holder(k), "nobody"),
          state.granted(state.holder(k)),
          less("0.0", state.length(k)),
          same(rec(state.holder(k)), k),
        ),
      ),
  },
};

/** What the clauses are for. Each follows from them. */
export const PROPERTIES = {
  exclusion: {
    about: ["Grant", "Grant"],
    holds: (state, g, other) =>
      implies(
        all(believes(state, g), believes(state, other), same(rec(g), rec(other))),
        same(g, other),
      ),
  },
  "guarded writes": {
    about: ["Grant"],
    holds: (state, g) =>
      implies(
        all(
          state.granted(g),
          same(state.holder(rec(g)), g),
          same(state.highest(rec(g)), state.fence(g)),
        ),
        same(state.number(g), state.grants(rec(g))),
      ),
  },
};
