import { createHash } from 'node:crypto';
import type { Query } from '@sluice/server/dist/query/query.js';
import { DuckdbSide } from '../duckdb/duckdb-side.ts';
import { parseBody } from '../parse-body.ts';
import type { Side } from './side.ts';
import { SluiceSide } from './sluice-side.ts';
import type { Sample, SubjectMessage, SubjectOptions, Task, TaskResult } from './subject.ts';

const options = JSON.parse(process.argv[2] ?? '') as SubjectOptions;

function startSide({ corpus, side, ...rest }: SubjectOptions): Promise<Side> {
  return side === 'sluice' ? SluiceSide.start(corpus, rest) : DuckdbSide.start(corpus, rest);
}

async function measure(side: Side, task: Task): Promise<TaskResult> {
  const query = parseBody(task.body);
  if (side instanceof DuckdbSide) side.rangeBlockCount = task.rangeBlockCount ?? Infinity;
  const hashed = task.isHashed ? await hash(side, query) : { answerBytes: 0, checksum: '' };
  const samples: Sample[] = [];
  const endMs = performance.now() + task.secondsMin * 1000;
  while (samples.length < task.runCount || performance.now() < endMs) {
    const [startMs, startCpu] = [performance.now(), process.cpuUsage()];
    const joiningMs = await side.discard(query);
    const { user, system } = process.cpuUsage(startCpu);
    const wallMs = performance.now() - startMs;
    samples.push({ wallMs, cpuMs: (user + system) / 1000, joiningMs });
  }
  return { samples, ...hashed };
}

async function hash(side: Side, query: Query) {
  const sum = createHash('sha256');
  let answerBytes = 0;
  for await (const piece of side.answer(query)) {
    sum.update(piece);
    answerBytes += Buffer.byteLength(piece);
  }
  return { answerBytes, checksum: sum.digest('hex') };
}

function send(message: SubjectMessage): void {
  process.send?.(message);
}

const side = await startSide(options);
process.on('message', (task: Task) => {
  measure(side, task).then(
    (result) => send({ kind: 'done', result }),
    (error: unknown) => send({ kind: 'failed', reason: String(error) }),
  );
});
// The process ends with its parent, so that an interrupted benchmark leaves no process behind.
process.on('disconnect', () => process.kill(process.pid));
send({ kind: 'ready' });
