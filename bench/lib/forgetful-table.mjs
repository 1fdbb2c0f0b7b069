// A table in memory that forgets released records: the heap that stays is the client's own.
import { MemoryTable } from "../../packages/testing/dist/index.js";

const isKept = ({ pk }) => pk.S.startsWith("session#");

export class ForgetfulTable {
  #kept = new MemoryTable();
  #others = new MemoryTable();
  clockCorrectionMs = 0;

  write(write, call) {
    return this.#of(write.key).write(write, call);
  }

  read(read, call) {
    return this.#of(read.key).read(read, call);
  }

  query(query, call) {
    return this.#others.query(query, call);
  }

  scan(scan, call) {
    return this.#others.scan(scan, call);
  }

  forget() {
    this.#others = new MemoryTable();
  }

  #of(key) {
    return isKept(key) ? this.#kept : this.#others;
  }
}
