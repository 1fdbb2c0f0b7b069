import { expect } from "vitest";
import type { Driver } from "./driver.js";
import type { Play } from "./play.js";
import type { Side } from "./scenes.js";
import type { LockName } from "./stage.js";

const GRANTS = process.env["INTEROP_FULL"] === "1" ? 200 : 20;
const CONTENDERS = 5;
const SIDES = ["theirs", "ours"] as const;

/** One hold, by the clock of the process which drives all processes. */
interface Tenure {
  readonly side: Side;
  readonly who: string;
  readonly fromMs: number;
  readonly toMs: number;
}

interface Contender {
  readonly side: Side;
  readonly who: string;
  readonly driver: Driver;
  readonly how: object;
}

/** Five processes of each side contend for one lock. */
export function contention(play: Play): void {
  play.scene(
    "contention",
    async () => {
      const name = play.stage.name();
      const contenders = await Promise.all(
        SIDES.flatMap((side) =>
          Array.from({ length: CONTENDERS }, async (_, index) => ({
            side,
            who: `${side} ${index}`,
            driver: await play.stage.enter(side),
            how: play.one[side].wait(60_000),
          })),
        ),
      );
      const tenures = await contend(name, contenders, GRANTS);
      const won = (side: Side) => tenures.filter((tenure) => tenure.side === side).length;
      play.measured(`${tenures.length} grants, theirs ${won("theirs")}, ours ${won("ours")}`);
      expect(tenures.length).toBeGreaterThanOrEqual(GRANTS);
      expect(overlaps(tenures)).toEqual([]);
      const winners = new Set(tenures.map(({ who }) => who));
      expect(winners.size).toBe(2 * CONTENDERS);
    },
    { limitMs: 60_000 + GRANTS * 3_000 },
  );
}

/**
 * Lets all processes contend for one lock until this number of grants. A tenure begins after the grant's answer and
 * ends before the release's request, so the client believes in its lock throughout.
 */
async function contend(
  name: LockName,
  contenders: readonly Contender[],
  grants: number,
): Promise<Tenure[]> {
  const tenures: Tenure[] = [];
  let begun = 0;
  await Promise.all(
    contenders.map(async ({ side, who, driver, how }) => {
      while (begun < grants) {
        const { hold } = await driver.acquire({ ...name, ...how }, 120_000);
        if (hold === undefined) continue;
        begun += 1;
        const fromMs = performance.now();
        await new Promise((resolve) => setTimeout(resolve, 10));
        tenures.push({ side, who, fromMs, toMs: performance.now() });
        await driver.release(hold);
      }
    }),
  );
  return tenures;
}

/** Returns the pairs of overlapping holds. */
function overlaps(tenures: readonly Tenure[]): [Tenure, Tenure][] {
  const inOrder = tenures.toSorted((left, right) => left.fromMs - right.fromMs);
  return inOrder.flatMap((tenure, index): [Tenure, Tenure][] => {
    const next = inOrder[index + 1];
    return next !== undefined && next.fromMs < tenure.toMs ? [[tenure, next]] : [];
  });
}
