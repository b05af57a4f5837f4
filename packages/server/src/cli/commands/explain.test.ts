import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { Dataset } from '../../dataset/dataset.ts';
import { createDataset } from '../../dataset/stored/create-dataset.ts';
import { mergeInProcess } from '../../dataset/testing/merge-in-process.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { runMain } from '../testing/run-main.ts';

let folder: string;
let data: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-explain-'));
  data = join(folder, 'data');
  const dependencies = {
    ...{ fs: nodeFs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess },
  };
  const kept = { genesisHash: null, votes: 'drop', metaOptional: false, allowMissing: [] } as const;
  const path = join(data, 'mine');
  await createDataset(path, { name: 'mine', aliases: [], ...kept }, dependencies);
  const dataset = await Dataset.open({ folder: path, realTime: true }, dependencies);
  const blocks = simulatedBlocks({
    ...{ content: { transactionsPerBlock: 2, votes: 0 }, firstSlot: 100, blockCount: 3 },
  });
  const { parentSlot, parentHash } = elementAt(blocks, 0).header;
  const added = blocks.map((block) => ({ header: block.header, bytes: buildSegment([block]) }));
  await dataset.commit([{ kind: 'create', anchor: { number: parentSlot, hash: parentHash } }]);
  await dataset.commit([{ kind: 'extend', blocks: added }]);
  await dataset.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

function explain(query: object, ...options: string[]) {
  const path = join(folder, 'q.json');
  writeFileSync(path, JSON.stringify(query));
  return runMain(['explain', '--data', data, '--query', path, 'mine', ...options]);
}

test('behavior: without a sealed segment, the output says so and how many blocks are unsealed', async () => {
  const { code, out, err } = await explain({ fromBlock: 0, logs: [{}] });
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(
    /^mine: 3 unsealed blocks are not explained, because only sealed segments are\nthere are no sealed segments to explain\n$/,
  );
  const json = await explain({ fromBlock: 0, logs: [{}] }, '--json');
  expect(JSON.parse(json.out)).toMatchObject({
    unsealed: [{ dataset: 'mine', blockCount: 3 }],
    segments: [],
  });
});

test('error: query-set-unknown names the folder that was searched', async () => {
  const { code, err } = await explain({ fromBlock: 0, logs: [{ programId: [{ set: 'users' }] }] });
  expect(code).toBe(1);
  expect(err).toContain('query-set-unknown');
  expect(err).toContain(`folder ${data}`);
});
