/** The tables of a run, by the shape of their keys. */
export const TABLES = { holdfast: "holdfast", key: "by-key", pair: "by-pair", objects: "objects" };
