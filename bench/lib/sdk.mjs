/** How every client of the SDK v3 is made: as many sockets as any case wants at once, and no defaults of a machine. */
export function sdkOptions(endpoint) {
  return {
    endpoint,
    region: "local",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    requestHandler: { httpAgent: { keepAlive: true, maxSockets: 256 } },
  };
}
