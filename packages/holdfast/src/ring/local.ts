import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../errors.js";
import { runtimeFolder, userId } from "../platform/process.js";
import type { Sockets } from "./sockets.js";

const ADDRESS = /^local:([a-z\d]{16})$/;

/**
 * Rings over sockets in a folder of the user, for processes of one user on one machine. A record has only the name of a
 * socket in it, so that nobody who can write records makes a client open another file.
 */
export function localSockets(id: string): Sockets {
  const name = id.replaceAll("-", "").slice(0, 16).toLowerCase();
  let folder: string | undefined;
  const pathOf = (socket: string): string => {
    folder ??= ownFolder();
    return join(folder, socket);
  };
  return {
    places: () => [{ path: pathOf(name) }],
    addressOf: (_server, { path = "" }) => {
      chmodSync(path, 0o600);
      return `local:${name}`;
    },
    connect: (address) => {
      const [, socket] = ADDRESS.exec(address) ?? [];
      if (socket === undefined) return undefined;
      try {
        return connect({ path: pathOf(socket) });
      } catch {
        // The folder cannot be used, which the listening has reported.
        return undefined;
      }
    },
  };
}

/** Returns the folder, which it makes if it is not there. Throws if others could put sockets into it. */
function ownFolder(): string {
  const runtime = runtimeFolder() ?? "";
  const user = userId();
  if (user === undefined) {
    throw new HoldfastError(
      "misconfigured",
      'ring("local") needs a Unix: use ring({ host }) here.',
    );
  }
  const folder = isOwn(runtime, user)
    ? join(runtime, "holdfast")
    : join(tmpdir(), `holdfast-${user}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (isOwn(folder, user)) return folder;
  throw new HoldfastError("misconfigured", `others than this user can write to ${folder}`);
}

function isOwn(folder: string, user: number): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === user && (found.mode & 0o077) === 0;
}
