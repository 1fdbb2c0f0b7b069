import { DYNAMOLOCK_V1 } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(DYNAMOLOCK_V1);
