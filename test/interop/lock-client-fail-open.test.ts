import { LOCK_CLIENT_FAIL_OPEN } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(LOCK_CLIENT_FAIL_OPEN);
