import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { startTelemetry } from "../../src/telemetry/index.js";

/** The answer to a Prometheus scrape of a process after `work`. */
export async function scrapedAfter(work: () => Promise<void>): Promise<string> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const telemetry = startTelemetry({ meter: provider.getMeter("holdfast"), tracer: false });
  const server = createServer((request, response) => {
    exporter.getMetricsRequestHandler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await work();
    const { port } = server.address() as AddressInfo;
    return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  } finally {
    telemetry.stop();
    server.close();
    await provider.shutdown();
  }
}
