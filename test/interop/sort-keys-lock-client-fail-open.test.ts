import { LOCK_CLIENT_FAIL_OPEN, withSortKey } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(withSortKey(LOCK_CLIENT_FAIL_OPEN));
