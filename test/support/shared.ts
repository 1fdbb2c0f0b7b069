import { afterAll } from "vitest";

/** Opens what all tests of a file use, and closes it after the last of them. Call it at the top of the file. */
export async function shared<T extends { close(): unknown }>(opening: Promise<T>): Promise<T> {
  const opened = await opening;
  afterAll(async () => void (await opened.close()));
  return opened;
}
