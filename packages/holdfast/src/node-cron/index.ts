/**
 * A run coordinator for node-cron. With it, only one instance runs each occurrence. Each name is documented at its
 * definition.
 * @module
 */
export {
  type NodeCronCoordinator,
  type NodeCronOptions,
  nodeCronCoordinator,
} from "./coordinator.js";
