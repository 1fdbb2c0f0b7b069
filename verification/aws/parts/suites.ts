import { diagnoseEngine } from "../../../src/table/index.js";
import { startGate } from "../gate.js";
import type { Finding, Scene } from "../scene.js";

/** Runs the checks of `holdfast diagnose --engine`. */
export async function engine({ client, names, signal }: Scene): Promise<Finding[]> {
  const { findings } = await diagnoseEngine({ client, table: names.table, signal });
  return findings.map(({ check, level, message }) => ({
    part: "engine",
    check,
    level: level === "ok" ? "ok" : "problem",
    message,
  }));
}

/** Runs the unchanged conformance tests through the gate. */
export async function conformance(scene: Scene): Promise<Finding[]> {
  const gate = await startGate(scene);
  try {
    const { passed, failed } = await scene.runSuite(gate.url, scene.signal);
    const summary: Finding = {
      part: "conformance",
      check: "tests",
      level: failed.length === 0 ? "ok" : "problem",
      message: `${passed} passed, ${failed.length} failed.`,
      figures: { passed, failed: failed.length, tables: gate.tables.size },
    };
    const each = failed.map(
      ({ file, title }): Finding => ({
        part: "conformance",
        check: file,
        level: "problem",
        message: title,
      }),
    );
    return [summary, ...each];
  } finally {
    await gate.close();
    await scene.ledger.remove(({ kind, name }) => kind === "table" && gate.tables.has(name));
  }
}
