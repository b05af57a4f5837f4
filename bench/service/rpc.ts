import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandProcess } from './command-process.ts';
import { hashAnswer, servingPattern } from './ingested-answer.ts';
import { machineCpuSeconds } from './machine-load.ts';
import { describeIngest, measureParse } from './parse-baseline.ts';
import { type Scenario, ScenarioFailure } from './scenario.ts';

const slotCount = 150;
const firstSlot = 1_000;
/** The node has further blocks above these, so that all of them are finalized. */
const headSlot = firstSlot + slotCount + 200;
const parsedCount = 40;
const goal = 0.2;
const lookEveryMs = 20;
const catchUpMsMax = 120_000;

/** Measures how fast the service catches up with a node on the same machine. */
export const rpcScenario: Scenario = {
  name: 'rpc',
  summary: `sluice serve --rpc catches up with ${slotCount} slots of the 2025 profile, with the simulated node on the same machine, compared with JSON.parse of the same blocks`,
  async run({ options, folder, print, progress }) {
    const shape = ['--seed', `${options.seed}`, '--profile', '2025'];
    const file = join(folder, 'blocks.jsonl');
    progress('JSON.parse');
    const sample = [
      '--start-slot',
      `${firstSlot}`,
      '--blocks',
      `${parsedCount + 5}`,
      '--out',
      file,
    ];
    await CommandProcess.run(['simulate', ...shape, ...sample]);
    const before = await measureParse(file, parsedCount);
    progress('catching up');
    const ports = ['--port', '0', '--ws-port', '0', '--control-port', '0', '--grpc-port', '0'];
    const { process: node, found } = await CommandProcess.start(
      ['simulate', ...shape, ...ports, '--start-slot', `${headSlot}`],
      /JSON-RPC\s+(\S+)[\s\S]*control\s+(\S+)/,
    );
    try {
      const [rpcUrl = '', controlUrl = ''] = found;
      await fetch(`${controlUrl}/time`, { method: 'POST', body: '{"pause":true}' });
      const source = ['--rpc', rpcUrl, '--dataset', 'bench', '--from', `${firstSlot}`];
      const listen = ['--port', '0', '--admin-port', '0'];
      const { process: service, found: serving } = await CommandProcess.start(
        ['serve', '--data', join(folder, 'data'), ...listen, ...source],
        servingPattern,
      );
      try {
        const port = Number(serving[0]);
        const marks = () => ({
          seconds: performance.now() / 1000,
          cpuSeconds: service.cpuSeconds(),
          nodeCpuSeconds: node.cpuSeconds(),
          machineCpuSeconds: machineCpuSeconds(),
        });
        const start = marks();
        await untilAt(port, firstSlot + slotCount - 1);
        const end = marks();
        const cpuSeconds = end.cpuSeconds - start.cpuSeconds;
        const nodeCpuSeconds = end.nodeCpuSeconds - start.nodeCpuSeconds;
        const anonymousBytesPeak = service.anonymousBytesPeak;
        const answer = await hashAnswer(port, firstSlot);
        progress('JSON.parse');
        const after = await measureParse(file, parsedCount);
        const result = {
          // One slot in a thousand is skipped.
          blockCount: slotCount,
          seconds: end.seconds - start.seconds,
          cpuSeconds,
          anonymousBytesPeak,
          otherCpuSeconds:
            end.machineCpuSeconds - start.machineCpuSeconds - cpuSeconds - nodeCpuSeconds,
        };
        for (const line of describeIngest(result, [before, after], goal)) print(line);
        print(
          `the node itself ${((nodeCpuSeconds * 1000) / slotCount).toFixed(0)} ms a block · answer ${answer}`,
        );
      } finally {
        await service.stop();
      }
    } finally {
      await node.stop();
    }
  },
};

async function untilAt(port: number, slot: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < catchUpMsMax; waitedMs += lookEveryMs) {
    const response = await fetch(`http://127.0.0.1:${port}/datasets/bench/head`);
    const head = (await response.json()) as { number: number } | null;
    if (head !== null && head.number >= slot) return;
    await sleep(lookEveryMs);
  }
  throw new ScenarioFailure('the service did not catch up with the node');
}
