import { AWS_LOCK_CLIENT, withSortKey } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(withSortKey(AWS_LOCK_CLIENT));
