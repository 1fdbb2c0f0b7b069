import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inspect, mutex } from "../../../holdfast/src/index.js";
import { refusalOf } from "../../src/serve/access.js";
import { startServing } from "../../src/serve/serve.js";
import { ServeWorld, TOKEN } from "./world.js";

let world: ServeWorld;
let releasing: ServeWorld;
beforeAll(async () => {
  world = await ServeWorld.start();
  releasing = await ServeWorld.start({ allowRelease: true });
});
afterAll(async () => {
  await world.close();
  await releasing.close();
});

describe("the server of the page", () => {
  it("refuses another Host, also with the token", async () => {
    for (const host of ["evil.example", `evil.example:${world.server.port}`, "127.0.0.1"]) {
      expect((await world.send("/api/table", { headers: { host } })).status).toBe(403);
    }
    const host = `localhost:${world.server.port}`;
    expect((await world.send("/api/table", { headers: { host } })).status).toBe(200);
  });

  it("refuses a short token, and one that no header can carry", () => {
    for (const token of ["short", `${TOKEN}\n`, ` ${TOKEN}`, `${TOKEN}\u00e9`]) {
      expect(() => startServing(world.cli.locks, { token })).toThrow(
        expect.objectContaining({ code: "usage" }),
      );
    }
  });

  it("accepts its own Host without the port 80, as browsers send it", () => {
    const policy = { token: TOKEN, port: 80, allowRelease: false };
    const statusOf = (host: string, origin = `http://${host}`) => {
      const url = new URL(`http://${host}/?token=${TOKEN}`);
      return refusalOf({ method: "GET", url, headers: { host, origin } }, policy)?.status;
    };
    expect(statusOf("127.0.0.1")).toBeUndefined();
    expect(statusOf("localhost")).toBeUndefined();
    expect(statusOf("127.0.0.1:8080")).toBe(403);
    expect(statusOf("127.0.0.1", "http://evil.example")).toBe(403);
  });

  it("refuses a request without the token, or with another token", async () => {
    for (const authorization of ["", "Bearer ", `Bearer ${TOKEN}x`, TOKEN]) {
      for (const path of ["/", "/api/table", "/api/record?name=a", "/metrics", "/none"]) {
        expect((await world.send(path, { headers: { authorization } })).status).toBe(401);
      }
    }
    expect((await world.send("/?token=wrong", { headers: { authorization: "" } })).status).toBe(
      401,
    );
    const page = await world.send(`/?token=${TOKEN}`, { headers: { authorization: "" } });
    expect(page.status).toBe(303);
  });

  it("refuses another origin", async () => {
    const own = `http://127.0.0.1:${world.server.port}`;
    const all = [
      { origin: "http://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of all) {
      expect((await world.send("/api/table", { headers: headers as never })).status).toBe(403);
    }
    const answer = await world.send("/api/table", { headers: { origin: own } });
    expect(answer.status).toBe(200);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("refuses a POST without --allow-release, and leaves the lock held", async () => {
    await using lease = await mutex(world.cli.locks, "a").acquire();
    const body = { name: "a", reason: "test", confirm: "a" };
    expect((await world.send("/api/release", { method: "POST", body })).status).toBe(403);
    expect((await world.send("/api/table", { method: "POST", body })).status).toBe(405);
    expect((await world.send("/api/table", { method: "DELETE" })).status).toBe(405);
    expect((await inspect(world.cli.locks, "a")).holder).toBe(lease.holder);
    expect((await inspect(world.cli.locks, "a")).forced).toBeUndefined();
  });

  it("releases only with a reason, the name as confirmation and the token in a header", async () => {
    await using _ = await mutex(releasing.cli.locks, "a").acquire();
    const post = (body: unknown, path = "/api/release", headers = {}) =>
      releasing.send(path, { method: "POST", body, headers });
    expect((await post({ name: "a", reason: "x", confirm: "b" })).status).toBe(400);
    expect((await post({ name: "a", reason: " ", confirm: "a" })).status).toBe(400);
    const inUrl = `/api/release?token=${TOKEN}`;
    const without = { authorization: "" };
    const good = { name: "a", reason: "x", confirm: "a" };
    expect((await post(good, inUrl, without)).status).toBe(401);
    expect((await inspect(releasing.cli.locks, "a")).forced).toBeUndefined();
    const done = await post(good);
    expect(done.status).toBe(200);
    expect((await inspect(releasing.cli.locks, "a")).forced).toMatchObject({ reason: "x" });
  });

  it("sends a name that is a script as JSON only, under a strict content security policy", async () => {
    const name = "<script>alert(1)</script>";
    await using _ = await mutex(world.cli.locks, name).acquire();
    const answer = await world.send(`/api/record?${new URLSearchParams({ name })}`);
    expect(JSON.parse(answer.body).detail.row).toMatchObject({ name, state: "held" });
    expect(answer.headers["content-type"]).toContain("application/json");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    const page = await world.send("/");
    expect(page.body).not.toContain("alert");
    expect(page.headers["content-security-policy"]).toMatch(
      /^default-src 'none'; script-src 'self';/,
    );
    expect(page.headers["content-security-policy"]).not.toMatch(/unsafe|\*|http/);
    expect(page.body).not.toMatch(/https?:\/\/|<script>|style=/);
  });

  it("listens on the loopback only", async () => {
    const others = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).flatMap(({ internal, family, address }) =>
        !internal && family === "IPv4" ? [address] : [],
      ),
    );
    for (const host of [...others, "127.0.0.2"]) {
      await expect(connected(host, world.server.port)).resolves.toBe(false);
    }
    await expect(connected("127.0.0.1", world.server.port)).resolves.toBe(true);
  });
});

function connected(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 });
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });
}
