import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** A server on the loopback interface that does as it is told. */
export interface LineServer {
  readonly port: number;
  readonly server: Server;
  close(): void;
}

/** Starts a server that calls `onLine` with each connection. */
export async function lineServer(onLine: (socket: Socket) => void): Promise<LineServer> {
  const lines = new Set<Socket>();
  const server = createServer((socket) => {
    lines.add(socket);
    socket.on("error", () => undefined);
    onLine(socket);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const close = (): void => {
    for (const line of lines) line.destroy();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, server, close };
}
