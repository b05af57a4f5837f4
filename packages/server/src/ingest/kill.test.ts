import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@sluice/base/clock';
import { workerUrl } from '@sluice/base/worker-url';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { expect, test } from 'vitest';
import { findHot } from '../chain/find-blocks.ts';
import { Dataset } from '../dataset/dataset.ts';
import { decodeHotBlock } from '../dataset/testing/decode-hot-block.ts';
import { nodeFs } from '../storage/node-fs.ts';

const script = fileURLToPath(new URL('./testing/follow-in-child.mjs', import.meta.url));
const dist = workerUrl(import.meta.url, '../').href;

/** Follows in a separate process, kills it after this many heads, and returns the heads that it printed. */
async function followAndKill(folder: string, url: string, headCount: number): Promise<string[]> {
  const child = spawn(process.execPath, [script, dist, folder, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  const shown: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    shown.push(line);
    if (shown.length === headCount) child.kill('SIGKILL');
  }
  await gone;
  return shown;
}

test('behavior: I-70 F-40 after repeated kills no reported block is lost and none is duplicated', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-kill-'));
  const node = await startSimulatedNode(
    {
      paused: true,
      chain: { startSlot: 400, skipRate: 0.1, forkRate: 0 },
      content: { transactionsPerBlock: 1, votes: 1, epochRewardsPerBlock: 1 },
    },
    { clock: systemClock },
  );
  try {
    const { chain } = node.ledger;
    let shownMax = -1;
    for (const headCount of [3, 1, 12, 2, 25]) {
      const shown = await followAndKill(folder, node.rpcUrl, headCount);
      const heads = shown.map((line) => Number(line.split(' ')[0]));
      // The first head of a process is not below the last one of its predecessor.
      expect(heads[0]).toBeGreaterThanOrEqual(shownMax);
      expect([...heads].sort((a, b) => a - b)).toEqual(heads);
      shownMax = Math.max(shownMax, ...heads);
      const dependencies = { fs: nodeFs, clock: systemClock, isLockHeld: () => true };
      const dataset = await Dataset.open(
        { folder: `${folder}/ledger`, realTime: false },
        dependencies,
      );
      const { hot, head } = dataset.snapshot();
      const expected = Array.from({ length: (head?.number ?? -1) + 1 }, (_, slot) => slot);
      const blocks = expected.flatMap((slot) => chain.blockAt(slot) ?? []);
      expect(hot.map(({ header }) => header.hash)).toEqual(
        blocks.map(({ blockhash }) => blockhash),
      );
      for (const line of shown.filter((one) => !one.startsWith('-1'))) {
        const [slot, hash] = line.split(' ');
        expect(findHot(dataset.snapshot(), Number(slot))?.header.hash).toBe(hash);
      }
      for (const block of hot) await decodeHotBlock(dataset, block);
      await dataset.close();
    }
    expect(shownMax).toBeGreaterThan(0);
  } finally {
    await node.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
