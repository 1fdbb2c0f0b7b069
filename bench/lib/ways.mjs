// The ways in which a subject can wait: with its default, or with a short poll if configurable.

/** Each way of each subject: `{ subject, label, options }`. A lease under wait is short. */
export function waysOf(subjects) {
  return subjects.flatMap((subject) =>
    Object.entries(subject.polls).map(([kind, pollMs]) => ({
      subject,
      kind,
      poll:
        kind === "default"
          ? subject.waitsALease
            ? "sleeps a lease of 3 s"
            : "default"
          : `${pollMs} ms`,
      options: { pollMs, ...(subject.waitsALease && { leaseMs: 3_000, beatMs: 1_000 }) },
    })),
  );
}

/** Runs up to `width` items at a time. Returns the results in the order of the items. */
export async function inParallel(width, items, work) {
  const found = new Array(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const at = next;
      next += 1;
      found[at] = await work(items[at], at);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return found;
}
