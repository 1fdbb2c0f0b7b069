import { DYNAMOLOCK } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(DYNAMOLOCK);
