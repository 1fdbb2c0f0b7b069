import type { ChildProcess } from "node:child_process";

/** The text that a run has written until now. */
export interface Text {
  stdout: string;
  stderr: string;
}

/** Collects the output of a process. */
export function collected(child: ChildProcess, text: Text = { stdout: "", stderr: "" }): Text {
  child.stdout?.on("data", (chunk) => {
    text.stdout += String(chunk);
  });
  child.stderr?.on("data", (chunk) => {
    text.stderr += String(chunk);
  });
  return text;
}

/** Returns a function that waits until a stream has a text. */
export function printedIn(text: Text) {
  return (wanted: string, stream: keyof Text = "stdout"): Promise<void> =>
    until(() => text[stream].includes(wanted), `${stream} has "${wanted}"`);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until the condition is true; rejects shortly before the test would time out. */
export async function until(isSo: () => boolean, what: string, withinMs = 25_000): Promise<void> {
  const startMs = performance.now();
  while (!isSo()) {
    if (performance.now() - startMs > withinMs) throw new Error(`It never came to this: ${what}.`);
    await pause(5);
  }
}
