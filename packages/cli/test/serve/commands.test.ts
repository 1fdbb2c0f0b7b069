import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { election } from "../../../holdfast/src/election/index.js";
import { fairLock, Holdfast, inspect, mutex, semaphore } from "../../../holdfast/src/index.js";
import { optionText, quoted } from "../../src/output/shell.js";
import { actionsOf, actionsOfPermit } from "../../src/serve/actions.js";
import type { Detail, DetailAnswer, Named, Permit, Row } from "../../src/serve/view-types.js";
import { shell } from "../support.js";
import { ServeWorld } from "./world.js";

let world: ServeWorld;
let client: Holdfast;
let trace: string;
beforeAll(async () => {
  world = await ServeWorld.start();
  // A renewal shows the holder that it is asked to release.
  const lengths = { lease: "3s", renew: "100ms" } as const;
  client = new Holdfast({ client: world.cli.client, table: "locks", ...lengths, owner: "ann" });
  trace = world.cli.file("trace");
});
afterAll(async () => {
  await client.close();
  await world.close();
});

const detail = async (record: Named): Promise<Detail> => {
  const { kind, name, namespace } = record;
  const query = new URLSearchParams({ kind, name, ...(namespace ? { namespace } : {}) });
  const { body } = await world.send(`/api/record?${query}`);
  return (JSON.parse(body) as DetailAnswer).detail as Detail;
};
const commandOf = (actions: Detail["actions"], what: string): string =>
  actions.find((one) => one.what === what)?.command ?? "";

/** Names that a shell or a parser of options could take for something else. */
const NAMES = [
  "-x",
  "--",
  "--table",
  "--kind=leader",
  "it's",
  "a $(touch TRACE) `touch TRACE` $HOME",
  "; touch TRACE #",
  '* ~ ? [a] {a,b} ! \\ "q"',
  " blanks at both ends ",
  "قفل 🔒",
  "👩‍👩‍👧\\n",
];
/** Names that only a shell with `$'...'` can have in a line that shows all characters. */
const HIDDEN = ["a\nb\n", "1\n23\u00077", "-\n$(touch TRACE)'", "a\u202egpj.exe\u0007"];

const CASES = [
  ...NAMES.map((name) => ({ shown: JSON.stringify(name), name, program: "sh" })),
  ...[...NAMES.slice(0, 6), ...HIDDEN].map((name) => ({
    ...{ shown: `${JSON.stringify(name)} in bash`, name, program: "bash" },
  })),
];

describe("the commands that the page prints", () => {
  it.each(CASES)("do as they say for the lock $shown", async ({ name: text, program }) => {
    const name = text.replaceAll("TRACE", trace);
    const lease = await mutex(client, name).acquire();
    const { actions } = await detail({ kind: "lock", name });
    const run = (what: string) => shell(world.cli, commandOf(actions, what), program);
    const [inspected, queue, history] = await Promise.all(
      ["Inspect", "List the queue", "Show the history"].map(run),
    );
    expect(inspected).toMatchObject({ status: 0, stderr: "" });
    expect(inspected?.stdout).toContain(lease.holder);
    expect(queue).toMatchObject({ status: 0 });
    expect(queue?.stdout).toContain("ann");
    expect(history).toMatchObject({ status: 0 });
    lease.signal.addEventListener("abort", () => void lease.release());
    const asked = await run("Ask the holder to release");
    expect(asked).toMatchObject({ status: 0 });
    expect(String(lease.signal.reason)).toContain("WHY");
    const next = await mutex(client, name).acquire();
    // Not by another reading: the server reads the details of a record once a period.
    const free = commandOf(actions, "Free it, if its process has ended");
    const freed = await shell(world.cli, free.replace(lease.holder, next.holder), program);
    expect(freed).toMatchObject({ status: 0 });
    expect((await inspect(client, name)).state).toBe("free");
    await next.release().catch(() => undefined);
    expect(existsSync(trace)).toBe(false);
  });

  it.each(["-x", "--", "it's"])("do as they say for the semaphore %j", async (name) => {
    const held = await semaphore(client, name, { permits: 2 }).acquire();
    const { actions, permits } = await detail({ kind: "semaphore", name });
    const change = commandOf(actions, "Change the limit").replace("--set-limit 2", "--set-limit 5");
    expect(await shell(world.cli, change)).toMatchObject({ status: 0 });
    expect(await inspect(client, name, { kind: "semaphore" })).toMatchObject({ limit: 5, used: 1 });
    const free = commandOf(permits[0]?.actions ?? [], "Free it, if its process has ended");
    expect(await shell(world.cli, free)).toMatchObject({ status: 0 });
    expect((await inspect(client, name, { kind: "semaphore" })).used).toBe(0);
    await held.release().catch(() => undefined);
  });

  it.each(["-n", "--", "n s"])("do as they say in the namespace %j", async (namespace) => {
    const lease = await fairLock(client, "-f", { namespace }).acquire();
    const { actions } = await detail({ kind: "lock", name: "-f", namespace });
    const { status, stdout } = await shell(world.cli, commandOf(actions, "Inspect"));
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining(lease.holder),
    });
    await lease.release();
  });

  it("do as they say for an election", async () => {
    const term = await election(client, "-e").campaign();
    const { actions } = await detail({ kind: "leader", name: "-e" });
    const { status, stdout } = await shell(world.cli, commandOf(actions, "Inspect"));
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(term.holder) });
    await term.release();
  });

  it("name the table as the server's own options do", async () => {
    const place = { region: "eu-west-1", endpoint: "http://127.0.0.1:8000", pk: "-id", sk: "none" };
    const other = await ServeWorld.start(place);
    const held = await semaphore(other.cli.locks, "s", { permits: 1 }).acquire();
    const { body } = await other.send("/api/record?kind=semaphore&name=s");
    const { actions, permits } = (JSON.parse(body) as DetailAnswer).detail as Detail;
    const all = [...actions, ...(permits[0]?.actions ?? [])];
    expect(all).toHaveLength(6);
    const options =
      "--table locks --region eu-west-1 --endpoint http://127.0.0.1:8000 --pk='-id' --sk none";
    for (const { command } of all) expect(command).toContain(options);
    await held.release();
    await other.close();
  });

  it("name a holder with a leading dash", async () => {
    const option = optionText("--holder", "-h");
    expect(await shell(world.cli, `holdfast release none ${option}`)).toMatchObject({ status: 76 });
  });

  it("are missing for a name that cannot be an argument of a process", () => {
    const row = { kind: "lock", name: "a\0b", state: "held", holder: "h" } as unknown as Row;
    expect(actionsOf(row, [])).toEqual([]);
    expect(actionsOfPermit(row, { holder: "h" } as Permit, [])).toEqual([]);
    const other = { ...row, name: "a" };
    expect(actionsOfPermit(other, { holder: "\0" } as Permit, [])).toEqual([]);
    expect(actionsOf(other, [])).toHaveLength(6);
  });

  it("show every character", () => {
    for (const text of HIDDEN) expect(quoted(text)).toMatch(/^\$'[\w ./:@\\-]+'$/);
    expect(quoted("👩‍👩‍👧\\n")).toBe("'👩‍👩‍👧\\n'");
    expect(quoted("deploy/eu-1")).toBe("deploy/eu-1");
    expect(quoted("it's $(x)")).toBe("'it'\\''s $(x)'");
  });
});
