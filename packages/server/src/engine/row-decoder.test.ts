import { readdirSync, readFileSync } from 'node:fs';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { describe, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import { parseQuery } from '../query/parse-query.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { answerSegments } from './answer-segments.ts';
import { Engine } from './engine.ts';
import { answerQuery } from './testing/reference/answer-query.ts';

const folder = new URL('../../../../docs/idl/', import.meta.url);
const files = readdirSync(folder).map((name) => ({
  name,
  text: readFileSync(new URL(name, folder), 'utf8'),
}));
const blocks = simulatedBlocks({
  content: { transactionsPerBlock: 30, failureRate: 0.1 },
  firstSlot: 500,
  blockCount: 12,
  skipRate: 0.2,
});
const swap = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';

const fields = {
  block: { number: true },
  instruction: { transactionIndex: true, instructionAddress: true, programId: true, decoded: true },
  log: { logIndex: true, kind: true, decoded: true },
};

function answers(
  body: object,
  idls: IdlRegistry,
): { readonly fast: string; readonly expected: string } {
  const query = parseQuery(
    { fromBlock: 0, fields, ...body },
    { limits: QUERY_LIMITS, dialects: ['ledger'] },
  );
  const engine = new Engine({ cacheBytesMax: 1 << 24 });
  engine.useIdls(idls);
  const keys = [0, 5].map((from, i) => {
    const key = `decoded ${i}`;
    engine.open(key, buildSegment(blocks.slice(from, i === 0 ? 5 : undefined)));
    return key;
  });
  const fast = Buffer.concat([...answerSegments(engine, keys, query)]).toString();
  return { fast, expected: answerQuery(query, blocks, idls) };
}

describe('decoded rows', () => {
  test.each([
    ['all instructions and logs', { instructions: [{}], logs: [{}] }],
    [
      'a program with its calls',
      { instructions: [{ programId: [swap], innerInstructions: true, logs: true }] },
    ],
    ['logs alone', { logs: [{ programId: [swap], kind: ['data'] }] }],
    ['no rows', { instructions: [{ programId: ['Config1111111111111111111111111111111111111'] }] }],
  ])(
    'behavior: the engine gives the same decoded records as the reference for %s',
    (_name, body) => {
      const { fast, expected } = answers(body, new IdlRegistry(files));
      expect(fast).toBe(expected);
      expect(fast.includes('"events":[{"program":"amm"')).toBe(/calls|all/.test(_name));
    },
  );

  test('behavior: an IDL is used only for its slots', () => {
    const middle = blocks[6]?.header.number ?? 0;
    const idls = files.flatMap((file) => [
      {
        ...file,
        name: `${file.name} old`,
        text: file.text.replace('"name": "amm"', '"name": "old"'),
        toSlot: middle - 1,
      },
      { ...file, fromSlot: middle },
    ]);
    const { fast, expected } = answers(
      { instructions: [{ programId: [swap] }] },
      new IdlRegistry(idls),
    );
    expect(fast).toBe(expected);
    for (const line of fast.trimEnd().split('\n')) {
      const { header } = JSON.parse(line) as { header: { number: number } };
      expect(line.includes('"program":"old"')).toBe(
        header.number < middle && line.includes('instructions'),
      );
    }
  });

  test('behavior: without an IDL a program keeps its bytes and says why', () => {
    const { fast, expected } = answers(
      { instructions: [{ programId: [swap] }] },
      new IdlRegistry(),
    );
    expect(fast).toBe(expected);
    expect(fast).toContain(
      '"decoded":{"program":null,"name":null,"error":"no IDL is registered for this program and slot","raw":"0x',
    );
  });
});
