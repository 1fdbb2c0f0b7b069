/**
 * The options of every client of the SDK v3: enough sockets for every case, and no defaults of the machine.
 */
export function sdkOptions(endpoint) {
  return {
    endpoint,
    region: "local",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    requestHandler: { httpAgent: { keepAlive: true, maxSockets: 256 } },
  };
}
