// The number of scripts that a Redis ran: the requests of a redlock client.
import { connect } from "node:net";

export function scriptsRun(port) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("INFO commandstats\r\n"));
    let text = "";
    socket.once("error", reject);
    socket.on("data", (chunk) => {
      text += chunk;
      const length = Number(/^\$(\d+)\r\n/.exec(text)?.[1]);
      if (!(text.length >= length)) return;
      socket.destroy();
      const counts = [...text.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].map(([, n]) =>
        Number(n),
      );
      resolve(counts.reduce((sum, count) => sum + count, 0));
    });
  });
}
