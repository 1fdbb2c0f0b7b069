/** Runs one placement, given by its name, and prints its violations as JSON; bundled with a variant's defect. */
import { placementOf } from "./placement.js";
import { found } from "./search.js";

// A rejection without a handler is part of the defect, and must not end the run.
process.on("unhandledRejection", () => undefined);

const { violations } = await found(placementOf(process.argv[2] ?? ""), true);
process.stdout.write(`${JSON.stringify(violations)}\n`, () => process.exit(0));
