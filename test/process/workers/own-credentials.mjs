// A `credential_process`: prints credentials that are valid for a few seconds. The access key says when they were made.
console.log(
  JSON.stringify({
    Version: 1,
    AccessKeyId: `own-${Date.now()}`,
    SecretAccessKey: "own",
    SessionToken: "own",
    Expiration: new Date(Date.now() + 5_000).toISOString(),
  }),
);
