/** The cost of simulated blocks: from the start of a window of the world, and after a jump into its middle. */
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import {
  type ContentOptions,
  parseContentOptions,
} from '@sluice/simulator/content/content-options';
import { BlockGenerator } from '@sluice/simulator/content/generate-block';
import { renderContent } from '@sluice/simulator/render-content';
import { type Benchmark, UsageFailure } from '../benchmark.ts';
import { readArgs, readCount } from '../read-args.ts';
import { alignTable } from '../report-text.ts';
import { measureRun } from './measure-run.ts';

const text = { type: 'string' } as const;
const seed = 1;
/** The slot of a window's start in every profile, after the slots of the epoch that pay rewards. */
const windowStart = 4096;
/** The blocks of a run: 60 to 200 MB. */
const blockCounts = { demo: 1024, '2025': 48, busy: 24 } as const;
type MeasuredProfile = keyof typeof blockCounts;

export const simulatorBenchmark: Benchmark = {
  name: 'simulator',
  summary: 'generating simulated blocks, compared with JSON.parse of their text',
  options: [
    '--profiles A,B   demo, 2025 or busy (default all three)',
    '--rounds N       measured rounds, each with a new generator (default 5)',
    '--blocks N       blocks of a run (default 1024 of demo, 48 of 2025, 24 of busy)',
  ],
  async run(print, args) {
    const given = readArgs(args, { profiles: text, rounds: text, blocks: text });
    const roundCount = readCount('rounds', given.rounds, { fallback: 5, min: 1 });
    const rows = [
      ['profile, from', 'blocks', 'MB', 'first half', 'second half', 'whole', 'sha256'],
    ];
    for (const profile of readProfiles(given.profiles ?? 'demo,2025,busy')) {
      const fallback = blockCounts[profile];
      const blockCount = readCount('blocks', given.blocks, { fallback, min: 2 });
      const options = parseContentOptions({ profile, seed });
      const middle = windowStart + new BlockGenerator(options).windowSlots / 2;
      for (const [name, firstSlot] of [
        ['start', windowStart],
        ['middle', middle],
      ] as const) {
        const createRender = () => createFinalRender(options);
        const result = measureRun({ firstSlot, blockCount, roundCount, createRender });
        const ratios = [result.first, result.second, result.whole].map(({ p50 }) => p50.toFixed(2));
        const size = [`${blockCount}`, result.megabytes.toFixed(1)];
        rows.push([`${profile}, ${name}`, ...size, ...ratios, result.checksum]);
      }
    }
    for (const line of alignTable(rows, { leftAtEnd: 1 })) print(line);
    print(`Processor time of generating divided by that of parsing, p50 of ${roundCount} rounds.`);
    print('From the middle of a window, the first half includes the jump to its first block.');
  },
};

function readProfiles(names: string): MeasuredProfile[] {
  return names.split(',').map((name) => {
    if (!Object.hasOwn(blockCounts, name)) {
      throw new UsageFailure(`--profiles accepts demo, 2025 and busy, not ${name}`);
    }
    return name as MeasuredProfile;
  });
}

function createFinalRender(options: ContentOptions): (slot: number) => Uint8Array {
  const chain = new SimulatedChain({ seed, skipRate: 0, forkRate: 0 });
  const render = renderContent(options);
  return (slot) => {
    const block = chain.blockAt(slot);
    if (block === undefined) throw new UsageFailure(`the simulated chain has no block ${slot}`);
    return render(block, { transactionDetails: 'full', rewards: true }).json;
  };
}
