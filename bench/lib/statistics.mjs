// Figures from samples. The bootstrap draws from a fixed seed: the same samples give the same interval.
import { max, median, min, quantile, sampleWithReplacement } from "simple-statistics";
import { seededRandom } from "../../packages/testing/dist/index.js";

const DRAWS = 2_000;

export const round = (value, digits = 3) => Number(value.toFixed(digits));

/** Least, median and most, and how many there were. */
export function spread(samples, digits = 3) {
  if (samples.length === 0) return undefined;
  const all = { min: min(samples), median: median(samples), max: max(samples) };
  for (const key of Object.keys(all)) all[key] = round(all[key], digits);
  return { ...all, n: samples.length };
}

export { median, quantile };

/** A 95 % interval of the median, by drawing again and again from the samples themselves. */
export function medianWithInterval(samples) {
  const random = seededRandom(1);
  const draw = () =>
    median(sampleWithReplacement(samples, samples.length, () => random.fraction()));
  const medians = Array.from({ length: DRAWS }, draw);
  return {
    median: round(median(samples)),
    low: round(quantile(medians, 0.025)),
    high: round(quantile(medians, 0.975)),
    n: samples.length,
  };
}

/** The ratio of two times, round by round: the two samples of a pair ran one right after the other. */
export function pairedRatio(samples, reference) {
  return medianWithInterval(samples.map((value, at) => value / reference[at]));
}
