import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { candidatesOf } from "../src/completion.js";
import { programOf } from "../src/program.js";
import { CLI_FILE } from "./support.js";

const program = programOf([], () => undefined);
const wordsAfter = (...words: string[]) => candidatesOf(program, words).map(({ word }) => word);

describe("the candidates", () => {
  it("are commands, and after a command its subcommands", () => {
    expect(wordsAfter("lo")).toEqual(["lock"]);
    expect(wordsAfter("table", "c")).toEqual(["create", "check"]);
    expect(wordsAfter("lock", "")).toEqual([]);
  });

  it("are the options of the command, after a hyphen", () => {
    expect(wordsAfter("lock", "account/7", "--w")).toEqual(["--write", "--wait"].sort());
    expect(wordsAfter("table", "policy", "--fo")).toEqual(["--for", "--format"]);
  });

  it("are the choices of an option that needs a value", () => {
    const choices = ["lock", "leader", "once", "semaphore", "read-write"];
    expect(wordsAfter("inspect", "--kind", "")).toEqual(choices);
    expect(wordsAfter("inspect", "--kind", "le")).toEqual(["leader"]);
    expect(wordsAfter("inspect", "--kind=o")).toEqual(["--kind=once"]);
    // As Bash splits the word.
    expect(wordsAfter("inspect", "--kind", "=")).toEqual(choices);
    expect(wordsAfter("inspect", "--kind", "=", "le")).toEqual(["leader"]);
    expect(wordsAfter("inspect", "--table", "lo")).toEqual([]);
  });

  it("are none after `--`: the shell itself completes that command", () => {
    expect(wordsAfter("lock", "a", "--", "--w")).toEqual([]);
  });
});

describe("the script of a shell", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-shells-"));
    const command = join(folder, "holdfast");
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${CLI_FILE}' "$@"\n`);
    chmodSync(command, 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const isInstalled = (shell: string) => {
    try {
      execFileSync(shell, ["-c", "true"]);
      return true;
    } catch {
      return false;
    }
  };
  const shell = (program: string, ...args: string[]) =>
    execFileSync(program, args, {
      encoding: "utf8",
      env: { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"]}`, HOME: folder },
    })
      .trim()
      .split("\n");

  it("completes a command in Bash", () => {
    const script = `source <(holdfast complete bash)
      COMP_WORDS=(holdfast inspect --kind l); COMP_CWORD=3; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
    expect(shell("bash", "-c", script)).toEqual(["lock", "leader"]);
  });

  // CI installs zsh and fish; a developer's machine may lack them.
  it.skipIf(!isInstalled("zsh"))("completes an option with its description in zsh", () => {
    const script = `compdef() {}; _describe() { print -l -- \${(P)2} }; _files() { print files }
      source <(holdfast complete zsh)
      words=(holdfast lock --wa); CURRENT=3; _holdfast
      words=(holdfast lock a -- m); CURRENT=5; _holdfast`;
    const [option, files] = shell("zsh", "-f", "-c", script);
    expect(option).toMatch(/^--wait:how long to wait/);
    expect(files).toBe("files");
  });

  it.skipIf(!isInstalled("fish"))("completes a command with its description in fish", () => {
    const script = "holdfast complete fish | source; complete -C 'holdfast sess'";
    expect(shell("fish", "--no-config", "-c", script)).toEqual([
      expect.stringMatching(/^sessions\tLists sessions/),
    ]);
  });
});
