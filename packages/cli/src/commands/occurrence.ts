/** How the last run of a task of `once` ended, in the data of its record. */

/** Returns the outcome; undefined of a run that goes on or was cut off, and if the record has none. */
export function outcomeIn(data: unknown): "completed" | "failed" | undefined {
  const { ended, outcome } = (data ?? {}) as Readonly<Record<string, unknown>>;
  if (ended === false) return undefined;
  return outcome === "completed" || outcome === "failed" ? outcome : undefined;
}

/** Returns the error of a failed run. */
export function failureIn(data: unknown): string | undefined {
  const { error } = (data ?? {}) as Readonly<Record<string, unknown>>;
  return outcomeIn(data) === "failed" && typeof error === "string" ? error : undefined;
}
