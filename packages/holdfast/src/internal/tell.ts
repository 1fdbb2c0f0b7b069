/**
 * Calls a callback of the user, which may be async. Its error, thrown or rejected, goes to `onError`, so that it neither ends
 * the work beside it nor becomes an unhandled rejection.
 */
export function tell<T>(
  callback: (told: T) => unknown,
  told: T,
  onError: (cause: unknown) => void,
): void {
  (async () => callback(told))().catch(onError);
}
