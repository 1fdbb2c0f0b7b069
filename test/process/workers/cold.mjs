// A process that lives once. In the role `holds` it takes `task.name` and reports its deadline until it is killed; in the
// role `asks` it asks once, reports whether it was granted, and with how many requests, and ends.
import { withLock } from "../../../packages/holdfast/dist/lambda/index.js";
import { all, client, fairLock, locks, mutex, once, openSession, say, task } from "./common.mjs";

const { name, leaseMs } = task;
const names = [`${name}/1`, `${name}/2`];
const never = () => new Promise(() => undefined);

let requests = 0;
const handler = client.config.requestHandler;
const { handle } = handler;
handler.handle = (...args) => {
  requests += 1;
  return handle.apply(handler, args);
};

/** Reports until when the lease counts as held, by the clock that all processes share. */
function holds(lease) {
  say("held");
  setInterval(() => {
    const nowNs = process.hrtime.bigint();
    say("believes", { untilNs: String(nowNs + BigInt(Math.floor(lease.remainingMs() * 1e6))) });
  }, 20);
}

function invoke(work) {
  const endMs = Date.now() + leaseMs + 500;
  const context = { getRemainingTimeInMillis: () => endMs - Date.now() };
  return withLock({ locks, name, needs: 0 }, (_event, _context, lease) => work(lease))({}, context);
}

const KINDS = {
  mutex: {
    holds: async () => holds(await mutex(locks, name).acquire()),
    asks: () => mutex(locks, name).tryAcquire(),
  },
  fair: {
    holds: async () => holds(await fairLock(locks, name).acquire()),
    asks: () => fairLock(locks, name).tryAcquire(),
  },
  waiter: {
    holds: () => fairLock(locks, name).acquire({ wait: "1h", onPosition: () => say("held") }),
    asks: () => fairLock(locks, name).tryAcquire(),
  },
  multi: {
    holds: async () => holds(await all(locks, names).acquire()),
    asks: () => all(locks, names).tryAcquire(),
  },
  session: {
    holds: async () => {
      const session = await openSession(locks);
      holds(await mutex(locks, name, { session }).acquire());
    },
    asks: () => mutex(locks, name).tryAcquire(),
  },
  once: {
    holds: () => {
      const options = { occurrence: "1", atMostFor: leaseMs };
      return once(locks, name, options, (lease) => {
        holds(lease);
        return never();
      });
    },
    asks: async () => {
      const { ran } = await once(locks, name, { occurrence: "2", atMostFor: leaseMs }, () => true);
      return ran ? true : null;
    },
  },
  lambda: {
    holds: () =>
      invoke((lease) => {
        holds(lease);
        return never();
      }),
    asks: () =>
      invoke(() => true).catch(({ code }) => {
        if (code !== "not-acquired") throw new Error(code);
        return null;
      }),
  },
};

const { [task.role]: act } = KINDS[task.kind];
if (task.role === "holds") {
  setInterval(() => undefined, 1_000);
  await act();
} else {
  say("asks");
  const granted = (await act()) !== null;
  say("answered", { granted, requests });
  // Not released: the answer is all that the test needs, and the next name is another one.
  process.exit(0);
}
