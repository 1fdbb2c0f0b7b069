import { DYNAMOLOCK, withSortKey } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(withSortKey(DYNAMOLOCK));
