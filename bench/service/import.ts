import { join } from 'node:path';
import { CommandProcess } from './command-process.ts';
import { hashAnswer, ServedFolder } from './ingested-answer.ts';
import { machineCpuSeconds } from './machine-load.ts';
import { describeIngest, measureParse } from './parse-baseline.ts';
import type { Scenario } from './scenario.ts';

/** About 800 MB. */
const blockCount = 200;
const firstSlot = 1_000;
const parsedCount = 60;
const goal = 0.4;

/** Measures how fast files of blocks are imported. */
export const importScenario: Scenario = {
  name: 'import',
  summary: `sluice import of ${blockCount} blocks of the 2025 profile with votes, uncompressed, compared with JSON.parse of the same blocks`,
  async run({ options, folder, print, progress }) {
    const file = join(folder, 'blocks.jsonl');
    const data = join(folder, 'data');
    progress('blocks');
    const shape = ['--seed', `${options.seed}`, '--profile', '2025'];
    const range = ['--start-slot', `${firstSlot}`, '--blocks', `${blockCount}`, '--out', file];
    await CommandProcess.run(['simulate', ...shape, ...range]);
    progress('JSON.parse');
    const before = await measureParse(file, parsedCount);
    progress('import');
    const otherStart = machineCpuSeconds();
    const result = await CommandProcess.measure([
      'import',
      '--data',
      data,
      '--dataset',
      'bench',
      file,
    ]);
    const otherCpuSeconds = machineCpuSeconds() - otherStart - result.cpuSeconds;
    progress('JSON.parse');
    const after = await measureParse(file, parsedCount);
    const figures = { ...result, blockCount, otherCpuSeconds };
    for (const line of describeIngest(figures, [before, after], goal)) print(line);
    const served = await ServedFolder.open(data);
    try {
      print(
        `a block ${(before.blockBytes / 1e6).toFixed(1)} MB · answer ${await hashAnswer(served.port, firstSlot)}`,
      );
    } finally {
      await served.close();
    }
  },
};
