import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../errors.js";
import { systemClock } from "../platform/clock.js";
import { runtimeFolder, userId } from "../platform/process.js";
import type { Sockets } from "./sockets.js";

const ADDRESS = /^local:([a-z\d]{16})$/;
const SOCKET = /^[a-z\d]{16}$/;

/** What the path of a socket may have on every Unix. A longer one is cut, and names another file. */
const MOST_PATH_BYTES = 103;
/** How many old sockets a client looks at when it begins, and how old they are at least. */
const MOST_OLD = 32;
const OLD_MS = 60_000;

/**
 * Rings over sockets in a folder of the user, for processes of one user on one machine. A record has only the name of a
 * socket in it, so that nobody who can write records makes a client open another file.
 */
export function localSockets(id: string): Sockets {
  const name = id.replaceAll("-", "").slice(0, 16).toLowerCase();
  return {
    places: () => {
      const folder = ownFolder();
      removeOld(folder, name);
      return [{ path: join(folder, name) }];
    },
    addressOf: (_server, { path = "" }) => {
      chmodSync(path, 0o600);
      return `local:${name}`;
    },
    connect: (address) => {
      const [, socket] = ADDRESS.exec(address) ?? [];
      const user = userId();
      if (socket === undefined || user === undefined) return undefined;
      // A process of a service, or of cron, may have been told another folder than this one.
      const path = foldersOf(user)
        .filter((folder) => isOwn(folder, user))
        .map((folder) => join(folder, socket))
        .find(existsSync);
      return path === undefined ? undefined : connect({ path });
    },
  };
}

/** The folders in which a socket of this user may be, the best first. */
function foldersOf(user: number): readonly string[] {
  const runtimes = [runtimeFolder() ?? "", `/run/user/${user}`].filter((one) => isOwn(one, user));
  const folders = runtimes.map((runtime) => join(runtime, "holdfast"));
  return [...new Set([...folders, join(tmpdir(), `holdfast-${user}`)])];
}

/** Returns the folder, which it makes if it is not there. Throws if others could put sockets into it. */
function ownFolder(): string {
  const user = userId();
  if (user === undefined) {
    throw new HoldfastError(
      "misconfigured",
      'ring("local") needs a Unix: use ring({ host }) here.',
    );
  }
  const folders = foldersOf(user);
  const folder = folders.find((one) => Buffer.byteLength(one) + 17 <= MOST_PATH_BYTES);
  if (folder === undefined) {
    throw new HoldfastError(
      "misconfigured",
      `the path of a socket in ${folders[0]} is too long: set XDG_RUNTIME_DIR or TMPDIR to a shorter one`,
    );
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (isOwn(folder, user)) return folder;
  throw new HoldfastError("misconfigured", `others than this user can write to ${folder}`);
}

/** Removes sockets of processes that have ended without `close()`: a job a minute would leave 1,440 a day. */
function removeOld(folder: string, own: string): void {
  const names = readdirSync(folder).filter((name) => SOCKET.test(name));
  // From another place of the list in each process, so that living ones hide none.
  const after = [...names.filter((name) => name > own), ...names.filter((name) => name < own)];
  for (const name of after.slice(0, MOST_OLD)) {
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    // A young one may belong to a process that is about to listen.
    if (found === undefined || systemClock.wallMs() - found.mtimeMs < OLD_MS) continue;
    const socket = connect({ path });
    socket.unref();
    socket.once("connect", () => socket.destroy());
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") rmSync(path, { force: true });
    });
  }
}

function isOwn(folder: string, user: number): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === user && (found.mode & 0o077) === 0;
}
