import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../packages/testing/src/proxy/proxy.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { sdkClient } from "../support/sdk.js";
import { contention } from "./contention.js";
import { directions } from "./directions.js";
import type { Acquired, Driver } from "./driver.js";
import { lostAnswers } from "./lost-answers.js";
import { requests } from "./requests.js";
import { type FormatCase, LACKS, type Lack, SCENES, type SceneName, type Side } from "./scenes.js";
import type { Seen } from "./seen.js";
import { Stage } from "./stage.js";

/** Extra time for a loaded machine: processes of two languages share it with DynamoDB Local. */
export const SLACK_MS = 1_500;

interface Told {
  readonly name: string;
  readonly suite?: Told | undefined;
}

/**
 * Names a test's row: the titles of the test and its suites, without the outermost, which is the format's.
 */
function rowOf({ name, suite }: Told): string {
  return suite?.suite === undefined ? name : `${rowOf(suite)}: ${name}`;
}

/** The scenes of one format during a run. */
export class Play {
  readonly one: FormatCase;
  #stage: Stage | undefined;
  #proxy: FaultProxy | undefined;
  #seen: Seen | undefined;

  constructor(one: FormatCase, endpoint: () => string) {
    this.one = one;
    const { format, driver = format } = one;
    let client: DynamoDBClient;
    beforeAll(async () => {
      client = sdkClient(endpoint());
      this.#stage = new Stage(client, endpoint(), one);
      await this.#stage.createTable();
      this.#proxy = await startFaultProxy({ target: endpoint() });
    });
    beforeEach(({ task }) => {
      this.#seen = { format, driver, row: rowOf(task), leftOut: [] };
      task.meta.seen = this.#seen;
    });
    afterEach(async ({ task }) => {
      if (task.meta.seen && this.stage.theirs) task.meta.seen.client = this.stage.theirs;
      this.proxy.script(undefined);
      await this.stage.clear();
    });
    afterAll(async () => {
      await this.proxy.close();
      client.destroy();
    });
  }

  get stage(): Stage {
    if (this.#stage === undefined) throw new Error("The play has not started yet.");
    return this.#stage;
  }

  get proxy(): FaultProxy {
    if (this.#proxy === undefined) throw new Error("The play has not started yet.");
    return this.#proxy;
  }

  /**
   * Declares a test if the format has this scene; skips the test, with the reason, if the client cannot play it.
   */
  scene(
    which: SceneName,
    play: () => Promise<void>,
    { unless, limitMs }: { unless?: Lack | false; limitMs?: number } = {},
  ): void {
    const { scenes, sortKey } = this.one;
    const isPlayed = scenes === undefined ? which !== "parts" || sortKey : scenes.includes(which);
    if (!isPlayed) return;
    it(
      SCENES[which],
      async ({ skip }) => {
        if (unless) skip(LACKS[unless]);
        await play();
      },
      limitMs,
    );
  }

  /** Whether this side can do this; if their client cannot, the table says so. */
  can(side: Side, what: Lack): boolean {
    if (!this.lacks(side, what)) return true;
    if (side === "theirs") this.#seen?.leftOut.push(LACKS[what]);
    return false;
  }

  lacks(side: Side, what: Lack): boolean {
    return this.one[side].cannot?.includes(what) === true;
  }

  /** Records a measurement for the table. */
  measured(figure: string): void {
    if (this.#seen !== undefined) this.#seen.figure = figure;
  }

  /** Checks the driver's belief in its hold, if the client reports this. */
  async believes(side: Side, driver: Driver, hold: string, expected: boolean): Promise<void> {
    if (this.can(side, "held")) expect(await driver.held(hold)).toBe(expected);
  }
}

export function holdOf(acquired: Acquired): string {
  if (acquired.hold === undefined) throw new Error(`Not granted: ${acquired.because}`);
  return acquired.hold;
}

/** Plays the scenes of one format: their client and ours, each in both roles. */
export function playFormat(one: FormatCase): void {
  const { format, driver = format, sortKey } = one;
  describeOnDynamoDBLocal(`in format ${format}, beside the original ${driver}`, (endpoint) => {
    const all = (): void => {
      const play = new Play(one, endpoint);
      directions(play);
      contention(play);
      lostAnswers(play);
      if (one.scenes === undefined) requests(play);
    };
    if (sortKey === undefined) all();
    else describe("with a sort key", all);
  });
}
