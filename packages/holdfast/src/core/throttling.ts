// About how long the client remembers a throttled answer.
const MEMORY_MS = 2_000;
// So many remembered answers change nothing: a table throttles single requests of one key now and then.
const FEW = 10;
const MOST = 32;

/**
 * How often DynamoDB throttled this client's requests lately. Each retry of its own pause, from hundreds of leases, keeps
 * the table throttled: so all pauses before retries grow with the number of throttled answers of the whole client.
 */
export class Throttling {
  #count = 0;
  #atMs = 0;

  /** Notes a throttled answer. */
  see(nowMs: number): void {
    this.#count = this.#countAt(nowMs) + 1;
    this.#atMs = nowMs;
  }

  /** By how much the pauses before retries grow: 1 if few requests were throttled, at most 32. */
  factor(nowMs: number): number {
    if (this.#count === 0) return 1;
    return Math.min(MOST, Math.max(1, this.#countAt(nowMs) / FEW));
  }

  #countAt(nowMs: number): number {
    return this.#count * Math.exp((this.#atMs - nowMs) / MEMORY_MS);
  }
}
