/** Milliseconds on the clock that all processes of a machine share. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Begins to watch the event loop of this process. Returns a function that ends it and returns the longest turn. */
export function watchTurns() {
  let isOver = false;
  let longestMs = 0;
  let lastMs = nowMs();
  const look = () => {
    longestMs = Math.max(longestMs, nowMs() - lastMs);
    lastMs = nowMs();
  };
  const turn = () => {
    look();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isOver = true;
    look();
    return longestMs;
  };
}
