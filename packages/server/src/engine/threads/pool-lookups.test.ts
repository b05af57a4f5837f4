import { expect, test } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import { PoolLookups, type ThreadPart } from './pool-lookups.ts';

/** A pool of one thread that does what the test says. */
class Subject {
  readonly clock = new ManualClock();
  readonly lookups = new PoolLookups({ countMax: 1, waitMsMax: 1_000, restMsMax: 50 }, this.clock);
  /** The ids of the requests that the thread received. */
  readonly received: number[] = [];
  readonly results: unknown[] = [];

  start(): void {
    const tell = () => undefined;
    const part: ThreadPart<number> = { thread: 0, items: [0], positions: [0], tell };
    const build = (id: number) => {
      this.received.push(id);
      return { kind: 'forget' } as const;
    };
    void this.lookups.start([part], build).then((result) => this.results.push(result));
  }

  finish(id: number): void {
    this.lookups.finish(0, { kind: 'lookup-done', id, positions: [0], results: [true] });
  }

  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

test('limit: one request of a lookup runs at a time, the others in the order of their arrival', async () => {
  const subject = new Subject();
  for (let i = 0; i < 3; i++) subject.start();
  await subject.settle();
  for (const id of [0, 1, 2]) {
    expect(subject.received).toEqual([0, 1, 2].slice(0, id + 1));
    subject.finish(id);
    await subject.settle();
  }
  expect(subject.results).toEqual([[true], [true], [true]]);
});

test('behavior: no request starts while followers wait for the threads', async () => {
  const subject = new Subject();
  let finishRun: (text: string) => void = () => undefined;
  const run = subject.lookups.wait(
    new Promise<string>((resolve) => {
      finishRun = resolve;
    }),
  );
  subject.start();
  await subject.settle();
  expect(subject.received).toEqual([]);
  finishRun('line');
  expect(await run).toBe('line');
  await subject.settle();
  expect(subject.received).toEqual([0]);
});

test('limit: a request that has waited for a second starts although other followers wait', async () => {
  const subject = new Subject();
  void subject.lookups.wait(new Promise(() => undefined));
  subject.start();
  await subject.lookups.wait(Promise.resolve());
  await subject.settle();
  expect(subject.received).toEqual([]);
  subject.clock.advance(1_000);
  await subject.lookups.wait(Promise.resolve());
  await subject.settle();
  expect(subject.received).toEqual([0]);
});

test('limit: while there are followers, the threads rest for as long as a request took', async () => {
  const subject = new Subject();
  for (let i = 0; i < 3; i++) subject.start();
  await subject.settle();
  subject.clock.advance(30);
  subject.finish(0);
  await subject.settle();
  expect(subject.received).toEqual([0, 1]);
  await subject.lookups.wait(Promise.resolve());
  subject.clock.advance(20);
  subject.finish(1);
  await subject.settle();
  // The result of the request does not wait for the rest.
  expect(subject.results).toHaveLength(2);
  subject.clock.advance(19);
  await subject.settle();
  expect(subject.received).toEqual([0, 1]);
  subject.clock.advance(1);
  await subject.settle();
  expect(subject.received).toEqual([0, 1, 2]);
});

test('error: engine-cancelled for the requests that run and those that wait when the pool stops', async () => {
  const { lookups } = new Subject();
  const part: ThreadPart<number> = { thread: 0, items: [0], positions: [0], tell: () => undefined };
  const starts = [0, 1].map(() => lookups.start([part], () => ({ kind: 'forget' })));
  await new Promise((resolve) => setImmediate(resolve));
  lookups.close();
  for (const started of starts)
    await expect(started).rejects.toMatchObject({ code: 'engine-cancelled' });
});
