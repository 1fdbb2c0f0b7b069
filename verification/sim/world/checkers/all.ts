import type { Checker } from "../../checker.js";
import { grants } from "./grants.js";
import { longest } from "./longest.js";
import { occurrences } from "./occurrences.js";
import { permitLimit, permitRecords } from "./permits.js";
import { queues } from "./queues.js";
import { heardInTime, newestFirst, obedience, toldInTime } from "./requests.js";
import { uses, usesInTime } from "./uses.js";
import { ids, starvation, undone } from "./waiting.js";

/** The checkers of what only a world contains. */
export const worldCheckers = {
  grants,
  obedience,
  toldInTime,
  heardInTime,
  longest,
  newestFirst,
  uses,
  usesInTime,
  permitLimit,
  permitRecords,
  occurrences,
  undone,
  starvation,
  ids,
  queues,
} as const satisfies Record<string, Checker>;
