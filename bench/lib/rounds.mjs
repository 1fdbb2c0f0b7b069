// Runs the same short block in each subject by turns, so that whatever the machine does hits all of them alike.
import { Worker } from "./workers.mjs";

const inWorker = (subject, servers, options) => Worker.start(subject, servers, options);

/**
 * Fresh processes in each repetition, then rounds; the order moves on by one each round, so that nobody always
 * runs after the same neighbour. `start` starts a subject's process; default: a worker, opened with `options`.
 * Answers with the blocks of each subject, in the same order for all.
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
