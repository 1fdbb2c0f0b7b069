/** Where a request goes, as the SDK resolved it. */
interface Place {
  readonly protocol?: string | undefined;
  readonly hostname?: string | undefined;
}

/**
 * Throws the runtime's error for a wrong URL unless a request goes by HTTP. In `localhost:8000`, without `http://`, the
 * host is the protocol, and its port the host.
 */
export function checkProtocol({ protocol, hostname }: Place): void {
  if (protocol === undefined || protocol === "https:" || protocol === "http:") return;
  const input = `${protocol}${hostname ?? ""}`;
  throw Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input });
}
