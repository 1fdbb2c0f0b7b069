// A table in memory that answers after a time, and counts its requests: what is measured beside it is the library alone.
import { MemoryTable } from "../../packages/testing/dist/index.js";
import { pause } from "./time.mjs";

export class SlowTable {
  #table = new MemoryTable();
  #latencyMs;
  clockCorrectionMs = 0;
  requests = 0;

  constructor(latencyMs) {
    this.#latencyMs = latencyMs;
  }

  write(write, call) {
    return this.#late(() => this.#table.write(write, call));
  }

  read(read, call) {
    return this.#late(() => this.#table.read(read, call));
  }

  query(query, call) {
    return this.#late(() => this.#table.query(query, call));
  }

  scan(scan, call) {
    return this.#late(() => this.#table.scan(scan, call));
  }

  async #late(answer) {
    this.requests += 1;
    await pause(this.#latencyMs);
    return answer();
  }
}
