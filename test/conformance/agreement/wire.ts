import { Agent, request } from "node:http";

/** An answer in wire form. */
export interface Answer {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
}

const AUTHORIZATION =
  "AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";

/** A client that sends requests unchanged: the SDK would correct or refuse many of them. */
export class RawClient {
  readonly #endpoint: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  send(operation: string, body: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        this.#endpoint,
        {
          agent: this.#agent,
          method: "POST",
          headers: {
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": `DynamoDB_20120810.${operation}`,
            authorization: AUTHORIZATION,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
          });
        },
      );
      outgoing.on("error", reject);
      outgoing.end(JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
