// Loaded into a process before its program: says of each thread that is started what it is and which environment it is given.
import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';

threads.Worker = class extends threads.Worker {
  constructor(url, options) {
    super(url, options);
    const told = { thread: String(url).split('/').at(-1), env: options?.env ?? null };
    process.stderr.write(`${JSON.stringify(told)}\n`);
  }
};
syncBuiltinESMExports();
