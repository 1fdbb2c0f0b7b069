export declare const TAKEOVER_S: {
  readonly deadline: number;
  readonly watched: number;
  readonly firstSight: number;
};
export declare function pictures(): Map<string, string>;
