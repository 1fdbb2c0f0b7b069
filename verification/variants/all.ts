import { ADMISSION } from "./admission.js";
import { ASSIGNED } from "./assigned.js";
import { COALESCED } from "./coalesced.js";
import { COMPANIONS } from "./companions.js";
import { COPIES } from "./copies.js";
import { SURROUNDINGS } from "./environment.js";
import { FIRST_SIGHT } from "./first-sight.js";
import { FORCED } from "./forced.js";
import { GRANTS } from "./grants.js";
import { HOLDS } from "./holds.js";
import { KEEPING } from "./keeping.js";
import { MULTI_LOCKS } from "./multi-locks.js";
import { OBJECTS } from "./objects.js";
import { OCCURRENCES } from "./occurrences.js";
import { OUTAGES } from "./outages.js";
import { PERMITS } from "./permits.js";
import { QUEUES } from "./queues.js";
import { RELEASES } from "./releases.js";
import { REQUESTS } from "./requests.js";
import { RINGS } from "./rings.js";
import { SCHEDULES } from "./schedules.js";
import { SESSIONS } from "./sessions.js";
import { SIGHTINGS } from "./sightings.js";
import { THREADS } from "./threads.js";
import type { Variant } from "./variant.js";
import { WATCHES } from "./watches.js";
import { WORLD } from "./world.js";

/** Every known-bad variant. */
export const VARIANTS: readonly Variant[] = [
  ...GRANTS,
  ...ADMISSION,
  ...WATCHES,
  ...FIRST_SIGHT,
  ...HOLDS,
  ...RELEASES,
  ...FORCED,
  ...KEEPING,
  ...REQUESTS,
  ...RINGS,
  ...SESSIONS,
  ...THREADS,
  ...QUEUES,
  ...MULTI_LOCKS,
  ...PERMITS,
  ...OUTAGES,
  ...COMPANIONS,
  ...SIGHTINGS,
  ...OBJECTS,
  ...OCCURRENCES,
  ...COALESCED,
  ...ASSIGNED,
  ...SCHEDULES,
  ...COPIES,
  ...SURROUNDINGS,
  ...WORLD,
];
