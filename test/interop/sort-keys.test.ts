import { SORTED } from "./formats.js";
import { playFormat } from "./play.js";

SORTED.forEach(playFormat);
