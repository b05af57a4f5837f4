import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import { quantilesOf } from '../benchmark.ts';
import { ServiceProcess, SimulatorProcess } from './processes.ts';
import { describeMemory, verdict } from './report.ts';
import { type Scenario, ScenarioFailure } from './scenario.ts';
import { importSimulated, prepareStoredData } from './stored-data.ts';

const blockCount = 10_000;
/** The newest blocks are large and in the journal, which a start has to read. */
const hotBlockCount = 100;
const firstSlot = 1_000;
const firstAnswerMsMax = 2_000;
const startCountMin = 3;
/** The distance of the requested block from the head. */
const askedSlots = 10;

/** Measures the time from the start of the command to its first response. */
export const startScenario: Scenario = {
  name: 'start',
  summary: `from \`sluice serve\` to its first answer, ${blockCount.toLocaleString('en')} blocks stored, the last ${hotBlockCount} of the 2025 profile in the journal, after a kill -9`,
  async run({ options, print, progress }) {
    const { seed, seconds } = options;
    progress('generating blocks (only once)');
    const data = await prepareStoredData({
      name: 'start',
      seed,
      make: (folder) => fill(folder, seed),
    });
    const service = await ServiceProcess.start(data);
    const head = (await service.head()) ?? 0;
    await service.process.stop('SIGKILL');
    const body = { fromBlock: head - askedSlots, toBlock: head, ...allBlocks };
    progress(`starting again and again for ${seconds} s`);
    const result = await startRepeatedly(data, body, seconds);
    const { p50, p95 } = quantilesOf(result.startMs);
    const bare = quantilesOf(result.bareMs).p50;
    print(
      `first answer after p50 ${p50.toFixed(0)}, p95 ${p95.toFixed(0)} ms · ${verdict(p95, firstAnswerMsMax, `of ${firstAnswerMsMax} ms`)} · ${(p50 / bare).toFixed(1)} × of a bare \`node -e 0\` (${bare.toFixed(0)} ms)`,
    );
    print(`${result.startMs.length} starts, checksum of the answer ${result.checksum}`);
    print(describeMemory(result.bytesPeak));
  },
};

const allBlocks = { includeAllBlocks: true, transactions: [{}] };

async function startRepeatedly(data: string, body: object, seconds: number) {
  const startMs: number[] = [];
  const bareMs: number[] = [];
  const checksums = new Set<string>();
  let bytesPeak = 0;
  const endMs = performance.now() + seconds * 1000;
  while (performance.now() < endMs || startMs.length < startCountMin) {
    const bareStartMs = performance.now();
    execFileSync(process.execPath, ['-e', '0']);
    bareMs.push(performance.now() - bareStartMs);
    const beginMs = performance.now();
    const service = await ServiceProcess.start(data);
    const answer = await service.ask(body);
    startMs.push(performance.now() - beginMs);
    checksums.add(createHash('sha256').update(answer).digest('hex').slice(0, 12));
    bytesPeak = Math.max(bytesPeak, service.process.anonymousBytesPeak);
    await service.process.stop('SIGKILL');
  }
  if (checksums.size > 1) throw new ScenarioFailure('the responses of two starts differ');
  return { startMs, bareMs, bytesPeak, checksum: [...checksums].join() };
}

/** Stores sealed blocks of the demo profile, then large blocks of the same chain from a node. */
async function fill(folder: string, seed: number): Promise<void> {
  const sealedCount = blockCount - hotBlockCount;
  await importSimulated(folder, { seed, profile: 'demo', firstSlot, blockCount: sealedCount });
  const chain = new SimulatedChain({ seed });
  let head = firstSlot;
  while (chain.height(head) < chain.height(firstSlot) + blockCount - 1)
    head = chain.nextBlock(head + 1);
  const simulator = await SimulatorProcess.start({ seed, profile: '2025', startSlot: head + 1 });
  const service = await ServiceProcess.follow(folder, simulator.rpcUrl);
  await service.untilAt(head);
  await service.process.stop('SIGKILL');
  await simulator.process.stop();
}
