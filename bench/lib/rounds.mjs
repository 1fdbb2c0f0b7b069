// Runs the same short block in each subject in turns, so that a disturbance of the machine affects all subjects
// alike.
import { Worker } from "./workers.mjs";

const inWorker = (subject, servers, options) => Worker.start(subject, servers, options);

/**
 * Starts fresh processes in each repetition, and then runs rounds. The order shifts by one each round, so that
 * no subject always follows the same neighbour. `start` starts a subject's process; default: a worker, opened
 * with `options`. Returns the blocks of each subject, in the same order for all subjects.
 */
export async function inRounds(context, subjects, asked) {
  const { options, start = inWorker, rounds, warmUp, block } = asked;
  const blocks = new Map(subjects.map(({ label }) => [label, []]));
  for (let repetition = 0; repetition < context.repetitions; repetition += 1) {
    const workers = [];
    try {
      for (const subject of subjects) {
        workers.push(await start(subject, context.servers, options));
      }
      for (const worker of workers) await warmUp(worker, repetition);
      for (let round = 0; round < rounds; round += 1) {
        for (let at = 0; at < workers.length; at += 1) {
          const worker = workers[(at + round) % workers.length];
          blocks.get(worker.subject.label).push(await block(worker, repetition));
        }
      }
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
    }
  }
  return blocks;
}
