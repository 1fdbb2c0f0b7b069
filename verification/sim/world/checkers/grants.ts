import type { Checker } from "../../checker.js";
import type { Violation } from "../../history.js";

/** A grant in the table: the process, the time, and the replaced fence. */
interface Granted {
  readonly by: string;
  readonly atMs: number;
  readonly replaced: bigint | undefined;
}

/**
 * The handle of each grant agrees with the table: the fence, one instant for several locks, and for an import exactly
 * the transfer as the grant before, so that each transfer is imported once.
 */
export const grants: Checker = (history) => {
  const found: Violation[] = [];
  const fences = new Map<string, bigint>();
  const granted = new Map<string, Granted>();
  const uses = new Map<string, string>();
  for (const event of history) {
    const { by, atMs } = event;
    const report = (invariant: string, what: string): void => {
      found.push({ invariant, atMs, what: `${by} ${what}` });
    };
    if (event.kind === "record") {
      const { name, fence } = event;
      const replaced = fences.get(name);
      fences.set(name, fence);
      const key = `${fence} ${name}`;
      if (event.holder !== undefined && replaced !== fence)
        granted.set(key, { by, atMs, replaced });
    } else if (event.kind === "use") {
      uses.set(`${event.fence} ${event.name}`, `${event.of} ${event.name}`);
    } else if (event.kind === "granted") {
      const key = `${event.fence} ${event.name}`;
      if (granted.get(uses.get(key) ?? key)?.by === by) continue;
      // A history without the records of a name shows nothing.
      if (!fences.has(event.name)) continue;
      report("told fence", `was granted "${event.name}" with fence ${event.fence}`);
    } else if (event.kind === "granted together") {
      const times = event.parts.map((part) => granted.get(part)?.atMs);
      if (new Set(times).size === 1) continue;
      report(
        "all or none",
        `was granted ${event.parts.join(" and ")} at ${times.join(" and ")} ms`,
      );
    } else if (event.kind === "imported") {
      const { name, fence, from } = event;
      if (granted.get(`${fence} ${name}`)?.replaced === from) continue;
      report("one importer", `imported "${name}" with fence ${fence}, but not from ${from}`);
    }
  }
  return found;
};
