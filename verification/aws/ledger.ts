import { setTimeout as pause } from "node:timers/promises";

/** A resource of the run, in the form of the list file. */
export interface Resource {
  readonly kind: "table" | "global-table" | "bucket" | "role";
  readonly name: string;
  readonly region: string;
  /** The other regions of a global table. */
  readonly replicas?: readonly string[] | undefined;
}

/** Removes a resource. Does nothing if the resource is gone. */
export type Remover = (resource: Resource) => Promise<void>;

/** A resource after a failed removal. */
export interface Leftover {
  readonly resource: Resource;
  readonly error: Error;
}

export interface LedgerOptions {
  readonly remove: Remover;
  /** Saves the list outside the process. */
  readonly save: (resources: readonly Resource[]) => void;
  /** For how long to retry a refused removal, for example of a table during its creation. */
  readonly patienceMs: number;
  readonly retryMs: number;
}

const isSame = (one: Resource, other: Resource): boolean =>
  one.kind === other.kind && one.name === other.name && one.region === other.region;

/** The list of the resources of a run. The list has each resource before the request for its creation. */
export class Ledger {
  readonly #options: LedgerOptions;
  #resources: readonly Resource[];

  constructor(options: LedgerOptions, resources: readonly Resource[] = []) {
    this.#options = options;
    this.#resources = resources;
  }

  get resources(): readonly Resource[] {
    return this.#resources;
  }

  add(resource: Resource): void {
    if (this.#resources.some((one) => isSame(one, resource))) return;
    this.#keep([...this.#resources, resource]);
  }

  /** Removes all resources. Never rejects: failed removals are returned, and their resources stay in the list. */
  async removeAll(): Promise<Leftover[]> {
    return this.remove(() => true);
  }

  /** Removes the selected resources, like {@link Ledger.removeAll}. */
  async remove(which: (resource: Resource) => boolean): Promise<Leftover[]> {
    const leftovers = await Promise.all(this.#resources.filter(which).map((one) => this.#try(one)));
    return leftovers.filter((one) => one !== undefined);
  }

  async #try(resource: Resource): Promise<Leftover | undefined> {
    const untilMs = performance.now() + this.#options.patienceMs;
    for (;;) {
      try {
        await this.#options.remove(resource);
        this.#keep(this.#resources.filter((one) => one !== resource));
        return undefined;
      } catch (cause) {
        const error = cause instanceof Error ? cause : new Error(String(cause));
        if (!isPassing(error) || performance.now() >= untilMs) return { resource, error };
        await pause(this.#options.retryMs);
      }
    }
  }

  #keep(resources: readonly Resource[]): void {
    this.#resources = resources;
    this.#options.save(resources);
  }
}

// A retry helps after a lost connection, a throttle or a wrong state of the resource, and not without a permission.
function isPassing(error: Error): boolean {
  return !/denied|not ?authorized|credentials|expired/i.test(`${error.name} ${error.message}`);
}

/** The commands of a removal by hand. */
export function commandsFor(resource: Resource, profile: string | undefined): string[] {
  const { kind, name, region, replicas = [] } = resource;
  const where = `${profile === undefined ? "" : ` --profile ${profile}`} --region ${region}`;
  const dropTable = `aws dynamodb delete-table --table-name ${name}${where}`;
  if (kind === "table") return [dropTable];
  if (kind === "global-table") {
    const deletions = replicas.map((one) => ({ Delete: { RegionName: one } }));
    const updates = `--replica-updates '${JSON.stringify(deletions)}'`;
    return [`aws dynamodb update-table --table-name ${name} ${updates}${where}`, dropTable];
  }
  if (kind === "bucket") return [`aws s3 rb s3://${name} --force${where}`];
  return [
    `aws iam delete-role-policy --role-name ${name} --policy-name ${ROLE_POLICY}${where}`,
    `aws iam delete-role --role-name ${name}${where}`,
  ];
}

/** The name of the policy of the run's role. */
export const ROLE_POLICY = "run";
