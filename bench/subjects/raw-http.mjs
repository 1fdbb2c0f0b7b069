// The two smallest requests for a lock, as plain HTTP, without an SDK and without a signature.
import { Agent, request } from "node:http";
import { TABLES } from "../lib/tables.mjs";

const HEADERS = {
  "content-type": "application/x-amz-json-1.0",
  // DynamoDB Local requires a signature but does not check it.
  authorization:
    "AWS4-HMAC-SHA256 Credential=local/20200101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
};

export function sender(endpoint) {
  const agent = new Agent({ keepAlive: true, maxSockets: 128 });
  const { hostname, port } = new URL(endpoint);
  const send = (operation, input) =>
    new Promise((resolve, reject) => {
      const body = Buffer.from(JSON.stringify(input));
      const headers = {
        ...HEADERS,
        "x-amz-target": `DynamoDB_20120810.${operation}`,
        "content-length": body.length,
      };
      const sent = request({ agent, hostname, port, method: "POST", headers }, (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.once("error", reject);
        response.once("end", () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode, body: text === "" ? {} : JSON.parse(text) });
        });
      });
      sent.once("error", reject);
      sent.end(body);
    });
  return { send, close: () => agent.destroy() };
}

export const rawHttp = {
  label: "raw-http",
  what: "plain HTTP, no SDK, no signature",
  roles: ["free"],
  open({ endpoint }) {
    const { send, close } = sender(endpoint);
    const key = (name) => ({ key: { S: name } });
    const tryAcquire = async (name) => {
      const { status } = await send("PutItem", {
        TableName: TABLES.key,
        Item: { ...key(name), owner: { S: "me" } },
        ConditionExpression: "attribute_not_exists(#0)",
        ExpressionAttributeNames: { "#0": "key" },
      });
      return status === 200 ? name : undefined;
    };
    return {
      tryAcquire,
      acquire: tryAcquire,
      release: (name) =>
        send("DeleteItem", {
          TableName: TABLES.key,
          Key: key(name),
          ConditionExpression: "#0 = :0",
          ExpressionAttributeNames: { "#0": "owner" },
          ExpressionAttributeValues: { ":0": { S: "me" } },
        }),
      close,
    };
  },
};
