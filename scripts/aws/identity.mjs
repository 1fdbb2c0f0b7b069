// The requests to IAM and STS of `npm run aws`.
import {
  CreateRoleCommand,
  DeleteRoleCommand,
  DeleteRolePolicyCommand,
  IAMClient,
  PutRolePolicyCommand,
} from "@aws-sdk/client-iam";
import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";

const POLICY = "run";
const LOCAL = { accessKeyId: "local", secretAccessKey: "local" };
/** The shortest session. */
const SESSION_S = 900;

/** The requests, with the profile's credentials or to the endpoint. */
export function identityOf({ profile, region, endpoint }) {
  const config =
    endpoint === undefined ? { region, profile } : { region, endpoint, credentials: LOCAL };
  const iam = new IAMClient(config);
  const sts = new STSClient(config);
  return {
    async account() {
      return (await sts.send(new GetCallerIdentityCommand({}))).Account;
    },

    async createRole(name, policy, tags) {
      const { Arn } = await sts.send(new GetCallerIdentityCommand({}));
      const [, partition, , , account] = Arn.split(":");
      const trust = {
        Version: "2012-10-17",
        Statement: [
          {
            Effect: "Allow",
            Principal: { AWS: `arn:${partition}:iam::${account}:root` },
            Action: "sts:AssumeRole",
          },
        ],
      };
      const { Role } = await iam.send(
        new CreateRoleCommand({
          RoleName: name,
          AssumeRolePolicyDocument: JSON.stringify(trust),
          Description: "Made by npm run aws of Holdfast, which deletes it at its end.",
          Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
        }),
      );
      const PolicyDocument = JSON.stringify(policy).replaceAll("arn:*", `arn:${partition}`);
      await iam.send(
        new PutRolePolicyCommand({ RoleName: name, PolicyName: POLICY, PolicyDocument }),
      );
      return Role.Arn;
    },

    async deleteRole(name) {
      const unlessGone = (error) => {
        if (error.name !== "NoSuchEntityException" && error.name !== "NoSuchEntity") throw error;
      };
      const policy = { RoleName: name, PolicyName: POLICY };
      await iam.send(new DeleteRolePolicyCommand(policy)).catch(unlessGone);
      await iam.send(new DeleteRoleCommand({ RoleName: name })).catch(unlessGone);
    },

    async assumeRole(arn, session, policy) {
      const { Credentials } = await sts.send(
        new AssumeRoleCommand({
          RoleArn: arn,
          RoleSessionName: session,
          Policy: JSON.stringify(policy),
          DurationSeconds: SESSION_S,
        }),
      );
      const { AccessKeyId, SecretAccessKey, SessionToken } = Credentials;
      return {
        accessKeyId: AccessKeyId,
        secretAccessKey: SecretAccessKey,
        sessionToken: SessionToken,
      };
    },
  };
}
