/**
 * Chooses queries for followers, like Q1 to Q3 and Q8 of the engine benchmark: instructions of a program by their first
 * eight bytes with related records, and token balances by owner. Of each kind it takes the queries whose response sizes
 * are closest to a target, so that any seed gives queries of similar cost.
 */
import { assert } from '@sluice/base/assert';
import type { Block } from '@sluice/ledger/block';
import { discriminator } from '@sluice/ledger/discriminator';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { parseBody } from '../parse-body.ts';
import { simulatedRecords } from '../simulated-records.ts';
import type { SimulatorOptions } from './processes.ts';

export interface QueryChoice {
  readonly count: number;
  /** The response size per block. */
  readonly answerBytesGoal: number;
}

const sampleBlockCount = 6;
const sampleSlot = 1_000;
const candidateCountMax = 200;
const cacheBytesMax = 64 << 20;

/** Returns query bodies without a range. Every block gives a line, so that arrivals can be counted. */
export function chooseFollowerQueries(
  ledger: SimulatorOptions,
  { count, answerBytesGoal }: QueryChoice,
): readonly object[] {
  const range = { firstSlot: sampleSlot, blockCount: sampleBlockCount };
  const blocks = [...simulatedRecords(ledger, range)];
  const calls = rank(
    blocks.flatMap(({ instructions }) =>
      instructions.map(({ programId, data }) => [programId, discriminator(data, 8)] as const),
    ),
  ).filter(([, d8]) => d8 !== null);
  const owners = rank(
    blocks.flatMap(({ tokenBalances }) => tokenBalances.map(({ postOwner }) => [postOwner])),
  ).filter(([owner]) => owner !== null);
  const inner = { transaction: true, innerInstructions: true };
  const tokens = { ...inner, transactionTokenBalances: true };
  const kinds = [
    ...[inner, tokens, { ...tokens, logs: true }].map((relations) =>
      calls.map(([programId, d8]) => ({
        instructions: [{ programId: [programId], d8: [d8], ...relations }],
      })),
    ),
    owners.map(([owner]) => ({ tokenBalances: [{ preOwner: [owner] }, { postOwner: [owner] }] })),
  ];
  const weigh = openSample(blocks);
  const chosen = kinds.flatMap((bodies, kind) => {
    const weighed = bodies.map((body) => ({
      body: { includeAllBlocks: true, ...body },
      distance: Math.abs(Math.log(weigh(body) / answerBytesGoal)),
    }));
    const share = Math.floor((count + kind) / kinds.length);
    return weighed.sort((a, b) => a.distance - b.distance).slice(0, share);
  });
  assert(chosen.length === count, 'the ledger has enough programs and owners');
  return chosen.map(({ body }) => body);
}

/** Sorts by frequency, then by text. */
function rank<Value extends readonly (string | null)[]>(values: readonly Value[]): Value[] {
  const counts = new Map<string, { readonly value: Value; count: number }>();
  for (const value of values) {
    const key = value.join(' ');
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { value, count: 1 });
    else known.count++;
  }
  return [...counts]
    .sort(([a, { count: m }], [b, { count: n }]) => n - m || (a < b ? -1 : 1))
    .slice(0, candidateCountMax)
    .map(([, { value }]) => value);
}

/** Returns the response size of a query per block. */
function openSample(blocks: readonly Block[]): (body: object) => number {
  const engine = new Engine({ cacheBytesMax });
  engine.open('sample', buildSegment(blocks));
  return (body) => {
    let bytes = 0;
    const query = parseBody({ fromBlock: 0, ...body });
    for (const piece of engine.run('sample', query)) bytes += piece.length;
    return bytes / blocks.length;
  };
}
