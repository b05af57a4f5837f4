import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { systemClock } from '@sluice/base/clock';
import type { ChainBlock } from '@sluice/simulator/chain/chain-block';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';

/**
 * The limit of a ratio: the processor time of the process to generate, print and send a block, divided by the time of one `JSON.parse`
 * of the same bytes. It is about 1 (docs/measurements/2026-11-15-simulator-52e8891.md), and 1.5 in the process of a test.
 */
const RATIO_MAX = 4;

const firstSlot = 1_000;
/** The number of warm-up rounds, in which the engine compiles hot code and the shared texts are built. */
const warmUpCount = 24;
/** Rounds alternate between serving and parsing, so that other load on the machine affects both. */
const roundCount = 4;
const blocksPerRound = 4;

/** The reader runs in its own process, so that it does not count for the node. */
const reader = `
  const { request } = require('node:http');
  const [url, first, count] = process.argv.slice(1);
  const agent = new (require('node:http').Agent)({ keepAlive: true });
  let slot = Number(first);
  let bytes = 0;
  (function next() {
    if (slot === Number(first) + Number(count)) return console.log(bytes), agent.destroy();
    const config = { encoding: 'json', transactionDetails: 'full', maxSupportedTransactionVersion: 0, rewards: true };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBlock', params: [slot++, config] });
    request(url, { method: 'POST', agent, headers: { 'Content-Type': 'application/json' } }, (response) => {
      response.on('data', (chunk) => (bytes += chunk.length)).on('end', next);
    }).end(body);
  })();
`;

let node: SimulatedNode;

beforeAll(async () => {
  node = await startSimulatedNode(
    {
      paused: true,
      chain: { seed: 1, startSlot: 2_000, skipRate: 0, forkRate: 0 },
      content: { profile: 'busy', votes: false },
    },
    { clock: systemClock },
  );
});
afterAll(() => node.close());

async function read(first: number, count: number): Promise<number> {
  const args = ['-e', reader, node.rpcUrl, String(first), String(count)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return Number(stdout);
}

function spentMicroseconds(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Returns the time to parse the served blocks, and their size. */
function measureYardstick(slots: readonly number[]): { spent: number; bytes: number } {
  let spent = 0;
  let bytes = 0;
  for (const slot of slots) {
    const options = { transactionDetails: 'full', rewards: true } as const;
    const { json } = node.ledger.render(node.ledger.chain.blockAt(slot) as ChainBlock, options);
    const text = Buffer.from(json).toString();
    const start = process.cpuUsage();
    JSON.parse(text);
    spent += spentMicroseconds(start);
    bytes += json.length;
  }
  return { spent, bytes };
}

test('limit: serving a block of a thousand transactions costs at most as much as parsing it four times', async () => {
  await read(firstSlot, warmUpCount);
  const around = '{"jsonrpc":"2.0","result":,"id":1}\n'.length;
  const ratios: number[] = [];
  for (let round = 0; round < roundCount; round++) {
    const first = firstSlot + warmUpCount + round * blocksPerRound;
    const start = process.cpuUsage();
    const bytes = await read(first, blocksPerRound);
    const served = spentMicroseconds(start);
    const yardstick = measureYardstick(Array.from({ length: blocksPerRound }, (_, i) => first + i));
    ratios.push(served / yardstick.spent);
    expect(bytes).toBe(yardstick.bytes + blocksPerRound * around);
  }
  // Other programs on the machine make a round slower, never faster.
  expect(Math.min(...ratios)).toBeLessThan(RATIO_MAX);
});
