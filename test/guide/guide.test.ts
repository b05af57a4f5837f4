/** Runs every program of the guide like a reader. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../packages/client/src/client.ts';
import { StormWorld } from '../client/storm-world.ts';
import { ServiceProcess } from '../service/service-process.ts';
import { type GuideProgram, RunningProgram, readGuideCode } from './guide-programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-guide-'));
const programs = readGuideCode('js');
// `dataframes.test.ts` runs the program that reads exported files.
const pythonPrograms = readGuideCode('python').filter(({ text }) => text.includes('http://'));
let demo: ServiceProcess;
let node: SimulatedNode;
beforeAll(async () => {
  demo = await ServiceProcess.startDemo(folder);
  node = await startSimulatedNode({}, { clock: systemClock });
});
afterAll(async () => {
  await demo.end('SIGKILL');
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

test('default: the guide has programs', () => {
  expect(programs.length).toBeGreaterThanOrEqual(12);
  expect(pythonPrograms.length).toBeGreaterThanOrEqual(4);
});

async function expectRecords(program: GuideProgram): Promise<void> {
  const running = new RunningProgram(program, `${demo.url}/datasets/ledger-beta`, node.rpcUrl);
  try {
    await running.until(() => running.lines.length >= 5);
    expect(running.errors).toBe('');
    expect(running.exitCode ?? 0).toBe(0);
    expect(running.lines.length).toBeGreaterThan(0);
    // A count or a sum must not be zero.
    expect(running.output).toMatch(/(^|[ :])[1-9]\d*( |$)/m);
    expect(running.output).not.toMatch(/^0 /m);
  } finally {
    await running.stop();
  }
}

test.each(programs)('behavior: the program $name runs and finds records', expectRecords);

/** Returns whether Python and the packages that a program imports are installed. */
function canRun({ text }: GuideProgram): boolean {
  const names = [...text.matchAll(/^(?:import|from) (\w+(?:[\w., ]*))/gm)].flatMap(
    ([, list = '']) =>
      list
        .split(' import ')[0]
        ?.split(',')
        .map((name) => name.trim()) ?? [],
  );
  return spawnSync('python3', ['-c', `import ${names.join(', ')}`]).status === 0;
}

// The packages requests, duckdb and polars are not part of this project; programs that need missing ones are skipped.
for (const program of pythonPrograms) {
  test.runIf(canRun(program))(
    `behavior: the Python program ${program.name} runs and finds records`,
    () => expectRecords(program),
  );
}

const [pythonFollower] = pythonPrograms.filter(({ text }) => text.includes('while True'));

test.runIf(pythonFollower !== undefined && canRun(pythonFollower))(
  'behavior: the Python follower continues after a restart, which breaks a line and answers 503 for a while',
  async () => {
    const positions: unknown[] = [];
    const line = (number: number) => `{"header":{"number":${number},"hash":"h${number}"}}\n`;
    const service = createServer((request, response) => {
      request.setEncoding('utf8');
      request.once('data', (body: string) => {
        const { fromBlock, parentBlockHash } = JSON.parse(body) as Record<string, unknown>;
        positions.push([fromBlock, parentBlockHash]);
        if (positions.length === 2) return response.writeHead(503, { 'retry-after': '0' }).end();
        if (positions.length > 2) return response.write(line(1));
        return response.write(`${line(0)}{"header"`, () => response.destroy());
      });
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const { port } = service.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/datasets/any`;
    const running = new RunningProgram(pythonFollower as GuideProgram, url);
    try {
      await running.until(() => running.output.includes('block 1'));
      expect(running.errors).toBe('');
      expect(running.lines.filter((text) => text.startsWith('block'))).toEqual([
        'block 0: 0 swaps',
        'block 1: 0 swaps',
      ]);
      expect(positions).toEqual([[0, null], ...Array.from({ length: 2 }, () => [1, 'h0'])]);
    } finally {
      await running.stop();
      service.closeAllConnections();
      service.close();
    }
  },
);

test('limit: the consumer with plain fetch has at most 60 lines', () => {
  const plain = programs.filter(({ text }) => /known/.test(text));
  expect(plain).toHaveLength(1);
  expect(plain[0]?.text.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});

const consumers = programs.filter(({ text }) => text.includes('console.log(`rollback ${'));

/** Returns the blocks with transfers that a program printed and did not roll back. */
function heldBlocks(lines: readonly string[]): string[] {
  let held: { number: number; text: string }[] = [];
  for (const line of lines) {
    const [what, number, hash, count] = line.split(' ');
    if (what === 'rollback') held = held.filter((block) => block.number <= Number(number));
    else {
      expect(Number(number)).toBeGreaterThan(held.at(-1)?.number ?? -1);
      held.push({
        number: Number(number),
        text: count === '0' ? '' : `${number} ${hash} ${count}`,
      });
    }
  }
  return held.map(({ text }) => text).filter((text) => text !== '');
}

test('behavior: both consumers of the guide have the chain after forks, broken connections and a kill of the service', async () => {
  expect(consumers).toHaveLength(2);
  const slotMs = 400;
  const world = await StormWorld.start({
    seed: 11,
    slotMs,
    killEverySlots: 30,
    forkEverySlots: 6,
    burstSlotsMax: 2,
    forkDepthMax: 20,
    cutBytes: 200_000,
  });
  const running = consumers.map((program) => new RunningProgram(program, world.url));
  try {
    let tip = '';
    const stop = new AbortController();
    const following = (async () => {
      const client = createClient({ url: world.url, retry: { firstMs: 20, maxMs: 200 } });
      const every = { fromBlock: 0, includeAllBlocks: true };
      for await (const batch of client.stream(every, { signal: stop.signal })) {
        tip = batch.cursor.blocks.at(-1)?.hash ?? '';
      }
    })().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    await world.runUntil(world.slot + 40, (head) => tip === head);
    // The blocks above the last fork become final, and the programs reach a block above it.
    world.node.ledger.time.advance(80 * slotMs);
    const last = world.slot;
    const lastOf = (lines: readonly string[]) => Number(lines.at(-1)?.split(' ')[1] ?? -1);
    for (const one of running) {
      await one.until(() => lastOf(one.lines) >= last - 20);
    }
    const toBlock = last - 20;
    const expected: string[] = [];
    const query = {
      fromBlock: 0,
      toBlock,
      fields: { instruction: { transactionIndex: true, instructionAddress: true } },
      instructions: [
        { programId: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', d1: ['0x03', '0x0c'] },
      ],
    } as const;
    for await (const batch of createClient({ url: world.directUrl }).stream(query)) {
      if (batch.kind === 'rollback') continue;
      for (const { header, instructions } of batch.blocks) {
        if (instructions.length > 0)
          expected.push(`${header.number} ${header.hash} ${instructions.length}`);
      }
    }
    expect(expected.length).toBeGreaterThan(30);
    for (const one of running) {
      const held = heldBlocks(one.lines).filter((text) => Number(text.split(' ')[0]) <= toBlock);
      expect(held).toEqual(expected);
      expect(one.lines.filter((line) => line.startsWith('rollback')).length).toBeGreaterThan(0);
    }
    stop.abort();
    await following;
  } finally {
    for (const one of running) await one.stop();
    await world.close();
  }
}, 180_000);
