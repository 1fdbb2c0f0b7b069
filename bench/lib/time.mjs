/** Milliseconds on the clock that all processes of a machine share. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
