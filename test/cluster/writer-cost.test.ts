/** What readers cost the writer of a cluster: the processor time of its process for each block. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../packages/server/src/base/clock.ts';
import { startSimulatedNode } from '../../packages/server/src/simulator/start-simulated-node.ts';
import { ClusterMember } from './services/member.ts';
import { startNats } from './services/start-nats.ts';
import { useS3 } from './services/start-s3.ts';

/** Blocks over which the processor time of the writer is measured. */
const writerBlockCount = 60;

/** Processor time that a process has used, in milliseconds. Linux counts it in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

test('behavior: the processor time of the writer for a block does not grow with the number of readers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-writer-'));
  const [s3, nats] = await Promise.all([useS3(), startNats(folder, 3)]);
  const node = await startSimulatedNode(
    {
      chain: { seed: 4, startSlot: 100, slotMs: 200, skipRate: 0, forkRate: 0 },
      content: { transactionsPerBlock: 20 },
    },
    { clock: systemClock },
  );
  const members: ClusterMember[] = [];
  const start = async (name: string, role: 'write' | 'read') => {
    const shared = { folder, rpcUrl: node.rpcUrl, s3, nats, dataset: { name: 'live' } };
    const member = await ClusterMember.start({ name, role, ...shared });
    members.push(member);
    await member.untilHead(80);
    return member;
  };
  try {
    const writer = await start('live-writer', 'write');
    const perBlock: number[] = [];
    for (const readerCount of [0, 1, 3]) {
      while (members.length < readerCount + 1) await start(`live-reader-${members.length}`, 'read');
      const [firstHead, firstMs] = [(await writer.readHead()) ?? 0, cpuMsOf(writer.pid)];
      await writer.untilHead(firstHead + writerBlockCount);
      const blocks = ((await writer.readHead()) ?? 0) - firstHead;
      perBlock.push((cpuMsOf(writer.pid) - firstMs) / blocks);
      process.stdout.write(
        `the writer with ${readerCount} readers: ${perBlock.at(-1)?.toFixed(1)} ms of processor time a block\n`,
      );
    }
    // The figures vary by half on a busy machine; a cost for each reader would be larger with three.
    const [none = 0, one = 0, three = 0] = perBlock;
    expect(three).toBeLessThan(((none + one) / 2) * 2 + 1);
  } finally {
    await Promise.all(members.map((member) => member.close()));
    await node.close();
    await nats.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
