// Imported first: the wall clock of this process is `task.skewMs` ahead of true time, for all code.
const skewMs = JSON.parse(process.argv[2]).skewMs ?? 0;
const TrueDate = Date;
globalThis.Date = class extends TrueDate {
  constructor(...given) {
    if (given.length === 0) super(TrueDate.now() + skewMs);
    else super(...given);
  }
  static now() {
    return TrueDate.now() + skewMs;
  }
};

/** The right time, which only the ledger of a test may use. */
export const trueMs = () => TrueDate.now();
