import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { hasJava } from "../../scripts/dynamodb-local/server.mjs";
import { faketimeLibrary } from "../../verification/chaos/fake-clock.js";
import type { Summary } from "../../verification/chaos/summary.js";

const SCRIPT = fileURLToPath(new URL("../../scripts/chaos.mjs", import.meta.url));

const isRun = hasJava() && faketimeLibrary() !== undefined;
const LEFT_OUT =
  "LEFT OUT: chaos with real processes, because Java or libfaketime is missing here. On Debian or " +
  "Ubuntu: apt-get install openjdk-17-jre-headless faketime.";
if (!isRun) console.warn(LEFT_OUT);

type Test = Pick<TestContext, "expect" | "onTestFinished">;

async function chaos({ expect, onTestFinished }: Test, ...args: readonly string[]) {
  const running = spawn(process.execPath, [SCRIPT, "--json", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void running.kill("SIGTERM"));
  const [output, errors, [status]] = await Promise.all([
    text(running.stdout),
    text(running.stderr),
    once(running, "exit"),
  ]);
  expect(output, errors).not.toBe("");
  return { summary: JSON.parse(output) as Summary, status, told: output + errors };
}

describe("real processes under real faults", () => {
  // Exactly one of both tests runs: a skipped suite must be visible, and must fail in CI.
  if (!isRun) {
    it("are skipped without Java or libfaketime, but never with CI=true", () => {
      expect(process.env["CI"], LEFT_OUT).not.toBe("true");
    });
    return;
  }

  // A run without some kind of fault, or without any loss of a lease, fails by itself.
  it("keep every invariant", async (test) => {
    const { summary, status, told } = await chaos(test, "--minutes", "0.35");
    expect(summary.violations, told).toEqual([]);
    expect(status).toBe(0);
    expect(Object.keys(summary.faults)).toEqual(
      expect.arrayContaining(["process stopped", "server killed", "wall clock stepped"]),
    );
    expect(summary.grants).toBeGreaterThan(5);
  }, 240_000);

  it("keep the promises of a semaphore", async (test) => {
    const { summary, status, told } = await chaos(
      test,
      "--permits",
      "--processes",
      "12",
      "--minutes",
      "0.35",
    );
    expect(summary.violations, told).toEqual([]);
    expect(status).toBe(0);
    expect(summary.takeovers?.permits).toBeGreaterThan(0);
  }, 240_000);

  // The next two run at the same time. Long enough that the grants of a slow machine pass the limit, too.
  it.concurrent("break the promises of a semaphore whose limit is not checked", async (test) => {
    const { expect } = test;
    const { summary, status } = await chaos(
      test,
      "--permits",
      "--processes",
      "12",
      "--minutes",
      "0.25",
      "--break",
      "permits",
    );
    const broken = new Set(summary.violations.map(({ invariant }) => invariant));
    expect([...broken].sort()).toEqual(expect.arrayContaining(["counted"]));
    expect(status).toBe(1);
  }, 240_000);

  it.concurrent("break an invariant with a core which takes over too early", async (test) => {
    const { expect } = test;
    const { summary, status, told } = await chaos(test, "--minutes", "0.5", "--break", "watch");
    // The run ends at its first violation. If the new holder has not acted by then, the early takeover breaks only
    // "belief", which forbids that the old holder still believes; otherwise it breaks "exclusion", too.
    const broken = summary.violations.map(({ invariant }) => invariant);
    const EARLY_TAKEOVER = ["belief", "exclusion"];
    expect(
      broken.filter((invariant) => EARLY_TAKEOVER.includes(invariant)),
      told,
    ).not.toEqual([]);
    expect(status).toBe(1);
  }, 240_000);
});
