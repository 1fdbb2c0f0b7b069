// The subjects of the comparison. Each subject lists its roles: `free`, acquire and release of a free lock;
// `try` on a held lock; `wait` for a lock; `hold` many locks; `fault`, with disturbances.

/** Separate modules, so that a process loads only its subject. */
const MODULES = {
  "raw-http": ["./raw-http.mjs", "rawHttp"],
  "raw-sdk3": ["./raw-sdk3.mjs", "rawSdk3"],
  "raw-same": ["./raw-same.mjs", "rawSame"],
  "lean-same": ["./raw-same.mjs", "rawSame"],
  "raw-http-same": ["./raw-same.mjs", "rawSame"],
  holdfast: ["./holdfast.mjs", "holdfastWays"],
  "holdfast-lean": ["./holdfast.mjs", "holdfastWays"],
  "holdfast-fair": ["./holdfast.mjs", "holdfastWays"],
  "holdfast-ring": ["./holdfast.mjs", "holdfastWays"],
  "holdfast-fair-ring": ["./holdfast.mjs", "holdfastWays"],
  "holdfast-session": ["./holdfast.mjs", "holdfastWays"],
  "dlc-open": ["../peers/lock-client.mjs", "lockClients"],
  "dlc-open-tlt": ["../peers/lock-client.mjs", "lockClients"],
  "dlc-closed": ["../peers/lock-client.mjs", "lockClients"],
  dh: ["../peers/delivery-hero.mjs", "deliveryHeroes"],
  "dh-tlt": ["../peers/delivery-hero.mjs", "deliveryHeroes"],
  verrou: ["../peers/verrou.mjs", "verrou"],
  mutex: ["../peers/mutex.mjs", "mutex"],
  redlock: ["../peers/redlock.mjs", "redlock"],
  etcd3: ["../peers/etcd.mjs", "etcd"],
  curator: ["../peers/curator.mjs", "curator"],
};

export async function loadSubject(label) {
  const [module, name] = MODULES[label];
  const exported = (await import(module))[name];
  return [exported].flat().find((subject) => subject.label === label);
}

/** All subjects available on this machine: peers if installed, Redis if running. */
export async function loadSubjects({ withPeers, withRedis }) {
  const labels = Object.keys(MODULES).filter(
    (label) => withPeers || !MODULES[label][0].startsWith("../peers/"),
  );
  const subjects = [];
  for (const label of labels) subjects.push(await loadSubject(label));
  return subjects.filter(({ server }) => server !== "redis" || withRedis);
}
