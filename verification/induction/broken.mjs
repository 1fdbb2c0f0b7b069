// Known-bad rules: for each the step that no longer keeps its rule, and a clause that this step then breaks.

const of = (step, breaks, rule, ...names) => names.map((name) => ({ name, step, breaks, rule }));

/** Each by the name with which protocol.mjs and clocks.mjs leave out, or replace, one rule. */
export const BROKEN = [
  ...of("answer", "counted", "43", "one clock alone", "no margin of the holder"),
  ...of("answer", "counted", "43", "no step of the boot clock"),
  ...of("answer", "counted", "43", "a deadline from the answer"),
  ...of("answer", "counted", "94", "a deadline past the end"),
  ...of("renewed", "counted", "20", "a renewal without its mark"),
  ...of("renewed", "final", "22", "an answer after the deadline"),
  ...of("renewed", "counted", "23", "an answer to an earlier renewal"),
  ...of("send", "dead", "15", "a watch without the drift"),
  ...of("send", "dead", "15", "a watch of the waiter's own length"),
  ...of("look", "watched", "40", "a watch from the send of the read"),
  ...of("send", "dead", "91", "no bound on the servers' clocks", "one Date decides"),
  ...of("send", "dead", "91", "the reader's wall clock decides"),
  ...of("renew", "forward", "92", "a Date is the exact time"),
  ...of("renew", "forward", "93", "a renewal without an end after one with"),
  ...of("keep", "counted", "93", "an older renewal moves the end back"),
  ...of("grant", "named", "16", "a takeover without the version", "a grant without its condition"),
  ...of("grant", "fenced", "10", "a grant does not raise the fence"),
  ...of("grant", "dead", "9", "a grant does not raise the version"),
  ...of("grant", "adopted", "11", "a grant keeps the session"),
  ...of("keep", "watched", "19", "a renewal does not raise the version"),
  ...of("keep", "named", "18", "a renewal of another's record"),
  ...of("keep", "counted", "18", "a renewal of a moved record"),
  ...of("send", "dead", "29", "a hand-off before the end"),
  ...of("release", "named", "29", "a release before the end"),
  ...of("send", "dead", "51", "the record of a session is watched"),
  ...of("send", "dead", "52", "a session is not ended first"),
  ...of("grant", "final", "46", "an ended session is created again"),
  ...of("move", "adopted", "49", "the lease alone counts while it moves"),
  ...of("moved", "counted", "49", "a move without its answer"),
  ...of("ask", "asked", "63", "a request to whoever holds"),
  ...of("obey", "asked", "64", "a request reaches the next holder"),
];
