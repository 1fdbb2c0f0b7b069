import { AWS_LOCK_CLIENT } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(AWS_LOCK_CLIENT);
