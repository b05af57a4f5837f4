// Preloaded into a process: reports each started thread with its environment.
import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';

threads.Worker = class extends threads.Worker {
  constructor(url, options) {
    super(url, options);
    const report = { thread: String(url).split('/').at(-1), env: options?.env ?? null };
    process.stderr.write(`${JSON.stringify(report)}\n`);
  }
};
syncBuiltinESMExports();
