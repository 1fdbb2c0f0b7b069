/** Runs SMT-LIB, and returns what Z3 prints. Rejects with what Z3 does not understand. */
export function solve(lines: readonly string[]): Promise<string>;
