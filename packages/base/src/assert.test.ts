import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { assert, watchAssertions } from './assert.ts';
import { workerUrl } from './worker-url.ts';

test('default: a failed assertion is reported although its error is caught', () => {
  const texts: string[] = [];
  const end = watchAssertions({
    onFailed: (text) => texts.push(text),
    onFailedElsewhere: () => undefined,
  });
  assert(true, 'this holds');
  expect(() => assert(false, 'slots ascend')).toThrow('slots ascend');
  end();
  expect(() => assert(false, 'not reported any more')).toThrow();
  expect(texts).toEqual([expect.stringMatching(/slots ascend\n.*assert\.test/s)]);
});

test('behavior: a failure in a worker thread is reported to the thread that watches', async () => {
  const url = workerUrl(import.meta.url, './assert.ts').href;
  const script = `import(${JSON.stringify(url)}).then(({ assert }) => {
    try { assert(false, 'pages are sorted'); } catch {}
    setInterval(() => undefined, 1000);
  });`;
  let worker: Worker | undefined;
  let end = () => {};
  const text = await new Promise((resolve) => {
    end = watchAssertions({ onFailed: () => undefined, onFailedElsewhere: resolve });
    worker = new Worker(script, { eval: true, env: {} });
  });
  end();
  await worker?.terminate();
  expect(text).toContain('pages are sorted');
});
