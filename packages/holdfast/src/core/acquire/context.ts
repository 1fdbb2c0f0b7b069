import type { ClientSettings } from "../client-settings.js";
import { ClientContext, type ClientEnvironment } from "../context.js";
import type { GrantResult, HoldSettings } from "../hold/hold.js";
import { LocalQueues } from "../local-queues.js";
import { RemoteSessions } from "../remote-sessions.js";

/** The client context, with the state that the acquisitions of one client share. */
export class AcquireContext extends ClientContext {
  /** The local queues of waiting acquisitions, by record. */
  readonly localQueues: LocalQueues<HoldSettings, GrantResult>;
  /** The sessions of other clients, as read by this client. */
  readonly sessions: RemoteSessions;

  constructor(environment: ClientEnvironment, settings: ClientSettings) {
    super(environment, settings);
    this.localQueues = new LocalQueues(this.timers, !this.isUnlocked);
    this.sessions = new RemoteSessions(this);
  }
}
