/**
 * Runs the service against a real node with real transactions. Both processes are killed and restarted, and every
 * stored block is compared with an independent reading of the node. The tests depend on each other: they share one node
 * and one data folder.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RECORD_ARRAY_NAMES, selectEveryField } from '@sluice/protocol/field-table';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCENARIOS } from '../scenarios/scenarios.ts';
import { World } from '../scenarios/world.ts';
import { ServiceProcess } from '../service/service-process.ts';
import { NodeGenesis } from './node-genesis.ts';
import { type Exact, parseExact } from './parse-exact.ts';
import { readNodeBlock, type Votes } from './read-node-block.ts';
import { RealNode } from './real-node.ts';
import { nodeBinary } from './require-node.ts';
import { type SentPlans, sendPlans } from './send-plans.ts';
import { waitFor } from './wait-for.ts';

/** Each round sends every scenario with different accounts. */
const ROUNDS = ['first', 'second', 'third'] as const;
/** Finality takes about 32 slots of 400 ms, and the machine may be busy. */
const FINAL_SECONDS_MAX = 120;

interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

interface Status {
  readonly alarms: readonly { readonly code: string }[];
  readonly sources: readonly { readonly state: string; readonly strikes: number }[];
}

/** All fields except the finalized head, which depends on the time of the response. */
const fields = selectEveryField('ledger', (_, name) => name !== 'finalizedHead');

interface SluiceLine {
  readonly header: { readonly number: bigint; readonly parentSlot: bigint; readonly hash: string };
  readonly [kind: string]: Exact;
}

/** Returns all records with all fields of the finalized blocks of a range. */
async function readSluiceLines(
  service: ServiceProcess,
  range: { readonly fromBlock: number; readonly toBlock: number },
): Promise<SluiceLine[]> {
  const response = await service.query('/datasets/mine/finalized-stream', {
    ...range,
    includeAllBlocks: true,
    fields,
    ...Object.fromEntries(RECORD_ARRAY_NAMES.map((kind) => [kind, [{}]])),
  });
  expect(response.status).toBe(200);
  const lines = (await response.text()).split('\n').slice(0, -1);
  return lines.map((line) => parseExact(line) as unknown as SluiceLine);
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-node-'));
const genesis = new NodeGenesis(folder);
let node: RealNode;
let service: ServiceProcess;
const services = new Set<ServiceProcess>();

beforeAll(async () => {
  for (const round of ROUNDS) await planRound(round);
  // All blocks are kept for the comparison.
  const args = [...genesis.args, '--limit-ledger-size', '10000000'];
  node = await RealNode.prepare({ binary: nodeBinary(), folder: join(folder, 'ledger'), args });
});
afterAll(async () => {
  for (const one of services) await one.end('SIGKILL');
  await node.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function planRound(round: string) {
  const world = await World.open(genesis, `${round} `);
  const plans = [];
  for (const scenario of SCENARIOS) plans.push(await scenario(world));
  return plans;
}

async function sendRound(round: string): Promise<SentPlans> {
  genesis.start(await node.rpc.slot('finalized'));
  return await sendPlans(node.rpc, await planRound(round));
}

async function startService(data: string, args: readonly string[]): Promise<ServiceProcess> {
  const follow = ['--rpc', node.rpc.url, '--dataset', 'mine', ...args];
  const started = await ServiceProcess.startServe(['--data', join(folder, data), ...follow]);
  services.add(started);
  return started;
}

async function endService(one: ServiceProcess, signal: 'SIGTERM' | 'SIGKILL') {
  services.delete(one);
  return await one.end(signal);
}

function waitForFinalized(one: ServiceProcess, slot: bigint): Promise<BlockRef> {
  return waitFor(`slot ${slot} finalized in the service`, FINAL_SECONDS_MAX, async () => {
    const ref = await one.getJson<BlockRef | null>('/datasets/mine/finalized-head');
    return ref !== null && BigInt(ref.number) >= slot ? ref : undefined;
  });
}

/** Compares every stored block of a range with the node and returns the lines. */
async function compare(one: ServiceProcess, fromBlock: number, votes: Votes) {
  const finalized = await one.getJson<BlockRef>('/datasets/mine/finalized-head');
  const lines = await readSluiceLines(one, { fromBlock, toBlock: finalized.number });
  const slots = await node.rpc.listSlots(BigInt(fromBlock), BigInt(finalized.number));
  expect(lines.map(({ header }) => header.number)).toEqual(slots);
  let height: Exact = null;
  for (const line of lines) {
    const read = await readNodeBlock(node.rpc, line.header.number, votes);
    // An unknown height is one more than the height of the parent.
    if (read.header.height === null && typeof height === 'bigint') read.header.height = height + 1n;
    expect(line).toEqual(read);
    height = read.header.height;
  }
  return lines;
}

function find(lines: readonly SluiceLine[], kind: string): Record<string, unknown>[] {
  return lines.flatMap((line) => (line[kind] ?? []) as unknown as Record<string, unknown>[]);
}

function countSkipped(lines: readonly SluiceLine[]): number {
  const gaps = lines.map(({ header }) => Number(header.number - header.parentSlot) - 1);
  return gaps.reduce((sum, gap) => sum + Math.max(gap, 0), 0);
}

test('default: a service that was started before its node follows it from genesis', async () => {
  service = await startService('data', ['--from', 'genesis']);
  await node.start();
  const sent = await sendRound('first');
  report('first', sent);
  await waitForFinalized(service, sent.lastSlot);
  const lines = await compare(service, 0, 'drop');
  const signatures = new Set(
    find(lines, 'transactions').map((one) => (one['signatures'] as string[])[0]),
  );
  // Transactions that are too large were not sent. All others are in blocks, except the few that this version of the
  // node rejects.
  expect(sent.refused.size).toBeLessThan(sent.landed.size / 10);
  for (const [title, signature] of sent.landed) {
    // The vote among them is dropped, like the votes of the node.
    expect(signatures.has(signature), title).toBe(title !== 'a vote, failed');
  }
});

test('behavior: the sent transactions cover all record kinds', async () => {
  const lines = await compare(service, 0, 'drop');
  const transactions = find(lines, 'transactions');
  const instructions = find(lines, 'instructions');
  const seen = (records: readonly Record<string, unknown>[], name: string) =>
    new Set(records.map((record) => record[name]));
  expect([...seen(transactions, 'version')]).toEqual(expect.arrayContaining([-1n, 0n]));
  expect(seen(transactions, 'hasDroppedLogMessages')).toEqual(new Set([false, true]));
  expect(seen(instructions, 'isCommitted')).toEqual(new Set([false, true]));
  expect([...seen(find(lines, 'logs'), 'kind')].sort()).toEqual(['data', 'log', 'other']);
  expect([...seen(find(lines, 'tokenBalances'), 'postProgramId')]).toEqual(
    expect.arrayContaining([
      'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
      'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
      null,
    ]),
  );
  expect(seen(find(lines, 'rewards'), 'rewardType')).toContain('Fee');
  const lookups = transactions.filter((one) => (one['addressTableLookups'] as []).length > 0);
  expect(lookups.length).toBeGreaterThan(0);
  const depths = instructions.map((one) => (one['instructionAddress'] as []).length);
  expect(Math.max(...depths)).toBe(9);
});

test('behavior: a service that is killed while blocks arrive continues without gaps or duplicates', async () => {
  const sending = sendRound('second');
  const before = await service.getJson<BlockRef>('/datasets/mine/head');
  await waitFor('a few more blocks', 60, async () => {
    const head = await service.getJson<BlockRef>('/datasets/mine/head');
    return head.number >= before.number + 3 ? true : undefined;
  });
  await endService(service, 'SIGKILL');
  const sent = await sending;
  report('second', sent);
  service = await startService('data', ['--from', 'genesis']);
  await waitForFinalized(service, sent.lastSlot);
  await compare(service, 0, 'drop');
});

test('behavior: the service follows a restarted node across its skipped slots', async () => {
  const sent = await sendRound('third');
  report('third', sent);
  await node.kill();
  const head = await service.getJson<BlockRef>('/datasets/mine/head');
  expect((await service.query('/datasets/mine/stream', { fromBlock: 0, toBlock: 0 })).status).toBe(
    200,
  );
  await node.start();
  const slot = await node.rpc.slot('processed');
  process.stderr.write(`head ${head.number} when killed, node at ${slot} after restart\n`);
  // The node restarts from its last root and replays, so only blocks that it reports as finalized again can be
  // compared.
  const beyond = BigInt(head.number) + 1n;
  await waitForFinalized(service, slot > beyond ? slot : beyond);
  const lines = await compare(service, 0, 'drop');
  process.stderr.write(`${lines.length} blocks, ${countSkipped(lines)} slots skipped\n`);
  expect(countSkipped(lines)).toBeGreaterThan(0);
  const status = await service.getJson<Status>('/datasets/mine/status');
  expect(status.alarms).toEqual([]);
});

test('behavior: a dataset that starts later and keeps votes catches up and has the same blocks', async () => {
  const finalized = await node.rpc.slot('finalized');
  const late = await startService('late', ['--from', '20', '--votes', 'keep']);
  await waitForFinalized(late, finalized);
  const lines = await compare(late, 20, 'keep');
  const votes = find(lines, 'instructions').filter(
    ({ programId }) => programId === 'Vote111111111111111111111111111111111111111',
  );
  expect(votes.length).toBeGreaterThan(0);
  expect(await endService(late, 'SIGTERM')).toBe(0);
});

function report(round: string, { landed, refused, tooLarge }: SentPlans): void {
  const reasons = [...refused].map(([title, reason]) => `\n  refused: ${title}: ${reason}`);
  process.stderr.write(
    `${round} round: ${landed.size} in blocks, ${tooLarge.length} too large, ${refused.size} refused${reasons.join('')}\n`,
  );
}
