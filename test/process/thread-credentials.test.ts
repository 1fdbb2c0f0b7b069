import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CredentialsGate } from "../support/credentials-gate.js";
import { ProcessScene } from "../support/process-scene.js";
import { pause } from "../support/sdk.js";

const LEASE_MS = 3_000;
const MAY_BLOCK_MS = 30_000;
// The thread uses its own credentials a minute before the expiry of those that the main thread has sent.
const MARGIN_MS = 60_000;
const OWN_VALID_MS = 5_000;
const EXPIRED = "The security token included in the request is expired";
const OPTIONS = { lease: LEASE_MS, sharedSession: { thread: true, mayBlock: MAY_BLOCK_MS } };

describe("a thread whose credentials expire", () => {
  let scene: ProcessScene;
  let gate: CredentialsGate;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-credentials-"));
  beforeAll(async () => {
    scene = await ProcessScene.open();
    gate = await CredentialsGate.start(scene.endpoint);
  });
  afterAll(async () => {
    await scene.close();
    await gate.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const holder = (name: string, task: object) =>
    scene.worker("expiring", { name, options: OPTIONS, ...task, endpoint: gate.url });
  const lastOf = (prefix: string): number =>
    Math.max(
      ...gate.passed.filter(({ keyId }) => keyId.startsWith(prefix)).map(({ atMs }) => atMs),
    );
  const msOf = (ns: unknown): number => Number(ns) / 1e6 - (hrMs() - performance.now());
  const hrMs = (): number => Number(process.hrtime.bigint()) / 1e6;

  it("renews in a block with credentials of the thread's own provider, and refreshes them", async () => {
    const script = fileURLToPath(new URL("workers/own-credentials.mjs", import.meta.url));
    const config = join(folder, "config");
    writeFileSync(
      config,
      `[profile own]\ncredential_process = "${process.execPath}" "${script}"\n`,
    );
    const env = { AWS_CONFIG_FILE: config, AWS_PROFILE: "own" };
    gate.isValid = (keyId) =>
      keyId === "sent" || Date.now() < Number(keyId.slice(4)) + OWN_VALID_MS;
    const credentials = { accessKeyId: "sent", expiresInMs: MARGIN_MS + 2_000 };
    const forMs = 12_000;
    const worker = holder("own", { env, credentials, forMs, isBlocked: true });
    await worker.says("held");
    await pause(4_000);
    gate.isValid = (keyId) => Date.now() < Number(keyId.slice(4)) + OWN_VALID_MS;
    expect(await worker.says("done")).toMatchObject({ isHeld: true });
    const own = new Set(
      gate.passed.map(({ keyId }) => keyId).filter((id) => id.startsWith("own-")),
    );
    // Held for longer than a lease after the expiry of each, so no single credentials were enough.
    expect(own.size).toBeGreaterThan(1);
  }, 60_000);

  // rule: R2, protocol 114
  it("loses the session at the deadline in a block if the credentials are static", async () => {
    gate.isValid = () => true;
    const credentials = { accessKeyId: "static" };
    const worker = holder("static", { credentials, forMs: 11_000, isBlocked: true });
    const begun = await worker.says("held");
    await pause(5_000);
    gate.isValid = () => false;
    const lastMs = lastOf("static");
    const done = await worker.says("done");
    expect(done).toMatchObject({ isHeld: false, code: "lost", reason: "session-ended" });
    const heldMs = msOf(done["heldAtNs"]);
    // For longer than a lease after the begin, so the thread has renewed; not longer than a lease after the last renewal.
    expect(heldMs).toBeGreaterThan(msOf(begun.atNs) + LEASE_MS);
    // At the deadline, and not at the first refused renewal, which is due a third of a lease after the last one.
    expect(heldMs).toBeGreaterThan(lastMs + LEASE_MS / 2);
    expect(heldMs).toBeLessThan(lastMs + LEASE_MS);
    // The answers arrive after the block, and only then can they be reported.
    const reported = await worker.says("reported");
    expect(reported).toMatchObject({ message: expect.stringContaining(EXPIRED) });
  }, 60_000);

  it("has its error reported while the event loop runs", async () => {
    gate.isValid = () => true;
    const worker = holder("reported", { credentials: { accessKeyId: "idle" }, forMs: 9_000 });
    await worker.says("held");
    await pause(2_000);
    gate.isValid = () => false;
    const reported = await worker.says("reported");
    const message = expect.stringContaining(EXPIRED);
    expect(reported).toMatchObject({ code: "outcome-unknown", message });
    const done = await worker.says("done");
    expect(done).toMatchObject({ isHeld: false, code: "lost", reason: "session-ended" });
  }, 60_000);
});
