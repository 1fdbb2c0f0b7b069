import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Admission, type Priority } from "../../src/core/admission.js";
import { Abort } from "../../src/platform/abort.js";

/** Lets requests ask one after the other; `sent` names them in the order in which they are admitted. */
function setUp(connections?: number) {
  const admission = new Admission(() => connections);
  const sent: string[] = [];
  const ask = (name: string, priority: Priority, rank = 0, signal = new Abort()): Abort => {
    if (admission.tryEnter(priority)) sent.push(name);
    else {
      void admission.enter(priority, signal, rank).then((isIn) => {
        if (isIn) sent.push(name);
      });
    }
    return signal;
  };
  const leave = async (priority: Priority): Promise<void> => {
    admission.leave(priority);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { admission, sent, ask, leave };
}

describe("the requests of a client", () => {
  it("leave a third of the connections to renewals, releases and sessions", () => {
    const { sent, ask } = setUp(3);
    for (const name of ["a", "b", "c"]) ask(name, "claim");
    ask("renewal", "keep");
    expect(sent).toEqual(["a", "b", "renewal"]);
  });

  it("are sent one at a time over a single connection, whatever they are", async () => {
    const { sent, ask, leave } = setUp(1);
    ask("a", "claim");
    ask("renewal", "keep");
    expect(sent).toEqual(["a"]);
    await leave("claim");
    expect(sent).toEqual(["a", "renewal"]);
  });

  it("are sent by their due time if they keep something, and before every claim", async () => {
    const { sent, ask, leave } = setUp(2);
    ask("x", "keep");
    ask("y", "keep");
    ask("claim", "claim");
    ask("late", "keep", 20);
    ask("soon", "keep", 10);
    sent.length = 0;
    for (const _ of ["x", "y", "soon"]) await leave("keep");
    expect(sent).toEqual(["soon", "late", "claim"]);
  });

  it("go in the order of arrival if they are claims, and a repeated claim keeps its place", async () => {
    const { admission, sent, ask, leave } = setUp(2);
    const first = admission.nextOrder();
    for (const name of ["a", "b", "c"]) ask(name, "claim");
    void admission.enter("claim", undefined, 0, first).then(() => sent.push("repeated"));
    await leave("claim");
    await leave("claim");
    await leave("claim");
    expect(sent).toEqual(["a", "repeated", "b", "c"]);
  });

  it("lose their place when they are aborted", async () => {
    const { admission, sent, ask, leave } = setUp(2);
    ask("a", "claim");
    const given = ask("b", "claim");
    ask("c", "claim");
    given.abort();
    expect(admission.waiting).toBe(1);
    await leave("claim");
    expect(sent).toEqual(["a", "c"]);
    expect(admission.waiting).toBe(0);
  });

  it.each([
    [undefined, 50],
    [10, 10],
    [1_000, 128],
  ])("are at most as many at once as the transport has connections: %s", (connections, most) => {
    const { sent, ask } = setUp(connections);
    for (let at = 0; at < 200; at += 1) ask("renewal", "keep");
    expect(sent).toHaveLength(most);
  });
});

it("a burst whose callers have given up does not stay in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { admission, ask, leave } = setUp(1);
  ask("first", "claim");
  const signals: WeakRef<Abort>[] = [];
  const giveUp = (priority: Priority): void => {
    const burst = Array.from({ length: 50 }, (_, at) => ask(`${at}`, priority));
    for (const signal of burst) {
      signal.abort();
      signals.push(new WeakRef(signal));
    }
  };
  giveUp("claim");
  giveUp("keep");
  expect(admission.waiting).toBe(0);
  await leave("claim");
  for (let turns = 0; turns < 5; turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collect();
  }
  expect(signals.filter((one) => one.deref() !== undefined).length).toBeLessThan(3);
});
