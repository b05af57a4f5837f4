/**
 * Changes valid inputs at random and gives them to the code that reads them. It must accept them or throw a coded error: any other exception
 * is a bug, and its input is stored in `corpus`. The files there are tried first in every run, and changed further like the valid inputs. An
 * input whose outcome is new is also changed further in this run, and stored if the files are to be kept.
 *
 *   npm run fuzz -- --minutes 10
 *   FUZZ_SEED=7 npm run fuzz -- --seconds 20
 *   npm run fuzz -- --minutes 10 --keep
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { elementAt } from '@sluice/base/element-at';
import { isCodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import { DIALECTS } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../packages/server/src/cluster/feed-message.ts';
import { parseQueryBody } from '../../packages/server/src/query/parse-query.ts';
import { verifyIndex } from '../../packages/server/src/segment/history/read-index.ts';
import { openSegment, verifySegment } from '../../packages/server/src/segment/read/open-segment.ts';
import { decodeBlocks } from '../../packages/server/src/segment/testing/decode-blocks.ts';
import { scanJournal } from '../../packages/server/src/storage/scan-journal.ts';
import { normalizeBlock } from '../../packages/source/src/normalize/normalize-block.ts';
import { wholeBlock } from '../../packages/source/src/testing/damaged-block.ts';
import { slot, toBytes } from '../../packages/source/src/testing/raw-block.ts';
import { makePlan, newMachine, ScriptRun } from '../simulation/kill-matrix.ts';
import { startProcess } from '../simulation/mortal-process.ts';

const { FUZZ_SECONDS: secondsText = '20', FUZZ_SEED: seedText, FUZZ_KEEP: keepText } = process.env;
const seed = Number(seedText ?? process.hrtime.bigint() % 1_000_000_007n);
const corpus = join(import.meta.dirname, 'corpus');

/** Larger inputs are not stored. */
const keptBytesMax = 16_384;

interface Target {
  readonly name: string;
  readonly inputs: Uint8Array[];
  readonly read: (bytes: Uint8Array) => unknown;
}

/** Returns the readers, with inputs from a dataset that a script has written. */
async function makeTargets(): Promise<Target[]> {
  const machine = newMachine();
  const run = new ScriptRun(makePlan(), startProcess(machine, Number.POSITIVE_INFINITY));
  await run.run();
  const { indexes } = run.open.snapshot();
  await run.open.close();
  const { disk } = machine;
  const filesOf = (part: string) =>
    disk.paths().filter((path) => path.startsWith(`data/ledger/${part}`));
  const [journal = ''] = filesOf('journal/').slice(-1);
  const journalNumber = Number(/(\d+)\.journal$/.exec(journal)?.[1]);
  const index = elementAt(indexes, 0);
  const query = {
    type: 'ledger',
    fromBlock: 5,
    toBlock: 900,
    fields: { block: { number: true, hash: true }, instruction: { data: true } },
    instructions: [{ programId: ['So11111111111111111111111111111111111111112'], d8: ['0x09'] }],
    logs: [{ kind: ['log'] }],
  };
  const blocks = run.plan.chain.slice(20, 22);
  const message = await encodeMessage(
    [[{ kind: 'extend', blocks: blocks.map(({ header }, payload) => ({ header, payload })) }]],
    blocks.map((block, id) => ({ id, bytes: block.segmentBytes() })),
    { bytesMax: 1 << 20, store: async () => 'unused' },
  );
  return [
    {
      name: 'query',
      inputs: [Buffer.from(JSON.stringify(query))],
      read: (bytes) => parseQueryBody(bytes, { limits: QUERY_LIMITS, dialects: DIALECTS }),
    },
    {
      name: 'block',
      inputs: [toBytes(wholeBlock())],
      read: (bytes) => normalizeBlock(slot, bytes, {}),
    },
    {
      name: 'segment',
      inputs: filesOf('segments/').map((path) => disk.readRaw(path)),
      read: (bytes) => {
        const segment = openSegment(bytes);
        if (verifySegment(segment).length === 0) decodeBlocks(segment);
      },
    },
    {
      name: 'journal',
      inputs: [disk.readRaw(journal)],
      read: (bytes) => scanJournal(bytes, journalNumber),
    },
    {
      name: 'index',
      inputs: [disk.readRaw(`data/ledger/indexes/${index.id}`)],
      read: (bytes) => verifyIndex(index, async (at, length) => bytes.subarray(at, at + length)),
    },
    {
      name: 'feed',
      inputs: [message.bytes],
      read: (bytes) => decodeMessage(bytes, async () => new Uint8Array(0)),
    },
  ];
}

/** Returns a copy with some bits flipped, bytes replaced, a part removed, repeated or copied elsewhere. */
function mutate(bytes: Uint8Array, random: Random): Uint8Array {
  let changed = Buffer.from(bytes);
  for (let edits = 1 + random.below(4); edits > 0 && changed.length > 1; edits--) {
    const at = random.below(changed.length);
    const part = changed.subarray(at, at + 1 + random.below(16));
    switch (random.below(6)) {
      case 0:
        changed.writeUInt8(changed.readUInt8(at) ^ (1 << random.below(8)), at);
        break;
      case 1:
        changed.writeUInt8(random.pick([0, 1, 0x22, 0x2c, 0x30, 0x5b, 0x7d, 0x7f, 0x80, 0xff]), at);
        break;
      case 2:
        changed = changed.subarray(0, at);
        break;
      case 3:
        changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + part.length)]);
        break;
      case 4:
        changed = Buffer.concat([changed.subarray(0, at), part, changed.subarray(at)]);
        break;
      default:
        part.copy(changed, random.below(changed.length));
    }
  }
  return new Uint8Array(changed);
}

/** Returns what the reader says of an input, without numbers and values. Throws what is not a coded error, after storing the input. */
async function tryInput(target: Target, bytes: Uint8Array): Promise<string> {
  try {
    await target.read(bytes.slice());
    return 'accepted';
  } catch (error) {
    if (isCodedError(error))
      return error.message.replaceAll(/\d+/g, '0').replace(/(path|found) .*/s, '');
    throw new Error(`${store(target, bytes)} fails`, { cause: error });
  }
}

/** Returns the name of the file. */
function store({ name }: Target, bytes: Uint8Array): string {
  mkdirSync(corpus, { recursive: true });
  const file = join(corpus, `${name}-${crc32(bytes).toString(16).padStart(8, '0')}`);
  writeFileSync(file, bytes);
  return file;
}

/** Tries the stored inputs, adds them to those of their targets, and returns their outcomes. */
async function tryCorpus(targets: readonly Target[]): Promise<Set<string>> {
  const outcomes = new Set<string>();
  for (const file of existsSync(corpus) ? readdirSync(corpus) : []) {
    const target = targets.find(({ name }) => file.startsWith(`${name}-`));
    if (target === undefined) continue;
    const bytes = readFileSync(join(corpus, file));
    outcomes.add(`${target.name}: ${await tryInput(target, bytes)}`);
    target.inputs.push(bytes);
  }
  return outcomes;
}

test('behavior: I-90 no change of a query, block, segment, journal, index or feed message leads to an exception that is not a coded error', {
  timeout: 7_200_000,
}, async () => {
  const targets = await makeTargets();
  const outcomes = await tryCorpus(targets);
  const random = Random.fromSeed(seed);
  const counts = new Map<string, number>();
  const endMs = performance.now() + Number(secondsText) * 1000;
  process.stderr.write(`fuzz: FUZZ_SEED=${seed} FUZZ_SECONDS=${secondsText}\n`);
  while (performance.now() < endMs) {
    for (const target of targets) {
      const bytes = mutate(random.pick(target.inputs), random);
      const outcome = `${target.name}: ${await tryInput(target, bytes)}`;
      counts.set(target.name, (counts.get(target.name) ?? 0) + 1);
      if (outcomes.has(outcome) || bytes.length > keptBytesMax) continue;
      outcomes.add(outcome);
      target.inputs.push(bytes);
      if (keepText === '1') store(target, bytes);
    }
  }
  const told = [...counts].map(([name, count]) => `${count} ${name}`).join(', ');
  process.stderr.write(`fuzz: ${told}; ${outcomes.size} different outcomes\n`);
  expect(counts.size).toBe(6);
});
