// The load of the machine during a run: figures of a busy machine are less reliable, and must say so.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

const TICKS_PER_S = 100;

function busyS() {
  const sum = { busy: 0 };
  for (const { times } of cpus()) sum.busy += times.user + times.nice + times.sys + times.irq;
  return sum.busy / 1_000;
}

/** CPU seconds of a process, including its ended children. */
function processS(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_S;
  } catch {
    return 0;
  }
}

function childrenOf(pid) {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return listed === "" ? [] : listed.split(" ").map(Number);
  } catch {
    return [];
  }
}

function treeS(pid) {
  return childrenOf(pid).reduce((sum, child) => sum + treeS(child), processS(pid));
}

/** Starts watching. The result says how many cores other programs used in the meantime, on average. */
export function watchMachine() {
  const from = { atMs: performance.now(), busyS: busyS(), ownS: treeS(process.pid) };
  return () => {
    const seconds = (performance.now() - from.atMs) / 1_000;
    const foreignS = busyS() - from.busyS - (treeS(process.pid) - from.ownS);
    return {
      cores: cpus().length,
      node: process.version,
      seconds: Math.round(seconds),
      foreignCores: Number(Math.max(0, foreignS / seconds).toFixed(2)),
    };
  };
}
