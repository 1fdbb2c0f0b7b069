import { beforeEach, describe, expect, it } from "vitest";
import { CommitWorld, type Writer } from "./world.js";

/** The requests of each operation without faults or rivals: the figures of the README and the doc comments. */
describe("the requests of a commit", () => {
  let world: CommitWorld;
  let writer: Writer;

  async function costOf(work: () => Promise<unknown>): Promise<string> {
    const { objects, writes, reads } = await world.requests(writer, work);
    return `${objects}; ${writes} writes, ${reads} reads`;
  }

  describe.each([["dynamo"], ["both"]] as const)("with %s", (strategy) => {
    beforeEach(() => {
      world = new CommitWorld();
      writer = world.writer({ strategy });
    });

    it("are two HEADs, the write and two writes of the record", async () => {
      const { committer } = writer;
      expect(await costOf(() => committer.putIfAbsent("a", "1"))).toBe(
        "2 head, 1 put; 2 writes, 0 reads",
      );
      const etag = world.objects.object("a")?.head.etag ?? "";
      expect(await costOf(() => committer.putIfMatch("a", etag, "2"))).toBe(
        "2 head, 1 put; 2 writes, 0 reads",
      );
      expect(await costOf(() => committer.update("a", () => "3"))).toBe(
        "2 head, 1 get, 1 put; 2 writes, 0 reads",
      );
      expect(await costOf(() => committer.copyIfAbsent("a", "b"))).toBe(
        "3 head, 1 copy; 2 writes, 0 reads",
      );
      expect(await costOf(() => committer.delete("b"))).toBe("3 head, 1 remove; 2 writes, 0 reads");
      expect(await costOf(() => committer.renameIfAbsent("a", "c"))).toBe(
        "6 head, 1 copy, 1 remove; 4 writes, 0 reads",
      );
    });

    it("are a single HEAD when the condition is false", async () => {
      world.objects.putByHand("a", "1");
      const { committer } = writer;
      const cost = await costOf(() => committer.putIfAbsent("a", "2").catch(() => undefined));
      expect(cost).toBe("1 head; 0 writes, 0 reads");
    });
  });

  it("are a single request with conditional", async () => {
    world = new CommitWorld();
    writer = world.writer({ strategy: "conditional" });
    const { committer } = writer;
    expect(await costOf(() => committer.putIfAbsent("a", "1"))).toBe("1 put; 0 writes, 0 reads");
    const etag = world.objects.object("a")?.head.etag ?? "";
    const put = () => committer.putIfMatch("a", etag, "2");
    expect(await costOf(put)).toBe("1 put; 0 writes, 0 reads");
    expect(await costOf(() => committer.update("a", () => "3"))).toBe(
      "1 get, 1 put; 0 writes, 0 reads",
    );
    // A refusal costs reads: is the write this writer's own, and which ETag is present?
    const refused = () => committer.putIfAbsent("a", "2").catch(() => undefined);
    expect(await costOf(refused)).toBe("1 head, 1 put; 0 writes, 0 reads");
    expect(await costOf(() => committer.delete("a"))).toBe("1 head, 1 remove; 0 writes, 0 reads");
  });

  it("are at most 39 to probe puts and 23 to probe copies, once", async () => {
    world = new CommitWorld();
    const sumAfter = async (ask: (one: Writer) => Promise<unknown>): Promise<number> => {
      const one = world.writer({ strategy: "auto" });
      await world.until(ask(one));
      return Object.values(one.store.requests).reduce((sum, times) => sum + times);
    };
    expect(await sumAfter(({ committer }) => committer.strategy())).toBe(39);
    expect(await sumAfter(({ committer }) => committer.probe())).toBe(39 + 23);
    writer = world.writer({ strategy: "auto" });
    const first = await world.requests(writer, () => writer.committer.putIfAbsent("a", "1"));
    expect(first.objects).toBe("37 put, 3 remove");
    const copied = await world.requests(writer, () => writer.committer.copyIfAbsent("a", "b"));
    expect(copied.objects).toBe("2 head, 2 put, 18 copy, 3 remove");
    const again = await world.requests(writer, () => writer.committer.copyIfAbsent("a", "c"));
    expect(again.objects).toBe("1 head, 1 copy");
    expect(world.objects.keys()).toEqual(["a", "b", "c"]);
  });

  it("are a strongly consistent read and a HEAD for each poll of a waiter", async () => {
    world = new CommitWorld();
    writer = world.writer();
    world.putRecord("a");
    const waited = await world.requests(writer, () => writer.committer.putIfAbsent("a", "1"));
    expect(waited.reads).toBeLessThan(60);
    // A first read, a read at the refusal, a read for each poll, a read under the record.
    expect(waited.objects).toBe(`${waited.reads + 3} head, 1 put`);
    // Refused, taken over, ended.
    expect(waited.writes).toBe(3);
  });
});
