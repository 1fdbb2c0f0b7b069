import { ClientContext, type ClientEnvironment } from "../context.js";
import type { GrantResult, HoldSettings } from "../hold/hold.js";
import { LocalQueues } from "../local-queue.js";
import type { ClientSettings } from "../options.js";
import { RemoteSessions } from "../remote-sessions.js";

/** What the acquisitions of one client share, beside its context. */
export class AcquireContext extends ClientContext {
  /** The acquisitions of this process that wait, by record. */
  readonly localQueues: LocalQueues<HoldSettings, GrantResult>;
  /** The sessions of other clients, as far as this client has read them. */
  readonly sessions: RemoteSessions;

  constructor(environment: ClientEnvironment, settings: ClientSettings) {
    super(environment, settings);
    this.localQueues = new LocalQueues(this.timers, !this.isLocal);
    this.sessions = new RemoteSessions(this);
  }
}
