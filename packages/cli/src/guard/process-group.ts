import { readdirSync, readFileSync } from "node:fs";

/** Sends a signal to every process of the group; false if the group is empty. Signal 0 only checks. */
export function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-groupId, signal);
    return true;
  } catch (error) {
    // EPERM: a process of another user is in the group, out of reach.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Whether no process of the group can act any longer. */
export function isGroupGone(groupId: number): boolean {
  return !signalGroup(groupId, 0) || isOnlyZombies(groupId);
}

// In a container whose first process does not reap zombies, they stay in the group forever.
function isOnlyZombies(groupId: number): boolean {
  let processIds: string[];
  try {
    processIds = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  } catch {
    return false;
  }
  return processIds.every((processId) => {
    const found = stateAndGroup(processId);
    return found === undefined || found.groupId !== groupId || /[ZX]/.test(found.state);
  });
}

function stateAndGroup(processId: string): { state: string; groupId: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, "utf8");
    // The name of the command, in parentheses, may contain spaces and parentheses.
    const [state = "", , groupId] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state, groupId: Number(groupId) };
  } catch {
    return undefined;
  }
}
