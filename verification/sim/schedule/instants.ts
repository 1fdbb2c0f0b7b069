/** How early and how late a run may begin, in milliseconds of true time, while nothing fails. */
export const LATE_MS = Object.freeze({
  /** A clock that is wrong by less than this is not noticed, and a `Date` has whole seconds. */
  early: 12_000,
  begin: 5 * 60_000,
  /** Until an instant has a success, or all its attempts. */
  finish: 3 * 3_600_000,
});

const MINUTE_MS = 60_000;
const ZONE = "Europe/Berlin";
const local = new Intl.DateTimeFormat("en-GB", {
  ...{ timeZone: ZONE, hourCycle: "h23", day: "2-digit", hour: "2-digit", minute: "2-digit" },
});

function localTime(ms: number): { readonly day: string; readonly minutes: number } {
  const parts = Object.fromEntries(local.formatToParts(ms).map(({ type, value }) => [type, value]));
  return {
    day: parts["day"] ?? "",
    minutes: 60 * Number(parts["hour"]) + Number(parts["minute"]),
  };
}

/** The rules of the simulation, each with its instants by another way than the library's. */
export const RULES = {
  /** Once on each day: after the gap of the short day, and at the first of two equal times. */
  daily: {
    options: { cron: "30 2 * * *", timeZone: ZONE },
    instants(fromMs: number, untilMs: number): number[] {
      const found: number[] = [];
      let seen = localTime(fromMs).minutes >= 150 ? localTime(fromMs).day : "";
      const stepMs = 30 * MINUTE_MS;
      for (let ms = Math.ceil(fromMs / stepMs) * stepMs; ms <= untilMs; ms += stepMs) {
        const { day, minutes } = localTime(ms);
        if (day === seen || minutes < 150) continue;
        seen = day;
        found.push(ms);
      }
      return found;
    },
  },
  /** Time zones are whole hours off, so these are the same instants everywhere. */
  often: {
    options: { cron: "*/20 * * * *", timeZone: ZONE },
    instants: (fromMs: number, untilMs: number) => multiples(20 * MINUTE_MS, 0, fromMs, untilMs),
  },
  period: {
    options: { every: "25m", offset: "7m" },
    instants: (fromMs: number, untilMs: number) =>
      multiples(25 * MINUTE_MS, 7 * MINUTE_MS, fromMs, untilMs),
  },
} as const;

function multiples(everyMs: number, offsetMs: number, fromMs: number, untilMs: number): number[] {
  const found: number[] = [];
  const first = Math.ceil((fromMs - offsetMs) / everyMs) * everyMs + offsetMs;
  for (let ms = first; ms <= untilMs; ms += everyMs) found.push(ms);
  return found;
}
