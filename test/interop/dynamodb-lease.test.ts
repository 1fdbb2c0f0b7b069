import { DYNAMODB_LEASE } from "./formats.js";
import { playFormat } from "./play.js";

playFormat(DYNAMODB_LEASE);
