import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { END_OF_STREAM, encodeSchema } from '@sluice/arrow/ipc-messages';
import { ARROW_ADDRESSES, ARROW_TABLE_NAMES } from '@sluice/protocol/arrow-table';
import { DIALECTS } from '@sluice/protocol/dialect';
import { mapKeys } from '@sluice/protocol/typed-keys';
import { KINDS } from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { afterAll, describe, expect, test } from 'vitest';
import { arrowFields } from '../../packages/server/src/engine/arrow/arrow-columns.ts';
import { answerFast, answerFastBytes } from '../../packages/server/src/engine/testing/answer-fast.ts';
import { parseQueryBody } from '../../packages/server/src/query/parse-query.ts';
import type { ArrowOutput, Query } from '../../packages/server/src/query/query.ts';
import { selectTable } from '../../packages/server/src/query/select-table.ts';
import { type PlainRow, parseLine, readArrowRows, rowsOfLines } from './arrow-rows.ts';
import { readGoldenBlocks, readGoldenQueries } from './read-golden.ts';

const blocks = readGoldenBlocks();
const queries = readGoldenQueries();

describe('an Arrow table has the same rows as the lines', () => {
  for (const { name, body } of queries) {
    test(`behavior: ${name}`, () => {
      const query = parse(body);
      for (const table of ARROW_TABLE_NAMES) {
        const expected = expectedRows(query, table);
        for (const addresses of ARROW_ADDRESSES)
          for (const blocksPerSegment of [undefined, 1]) {
            const stream = answerArrow(query, { table, addresses }, blocksPerSegment);
            expect(readArrowRows(stream)).toEqual(expected);
          }
      }
    });
  }
});

const python = process.env['PYTHON'] ?? 'python3';
const readers = ['pyarrow', 'polars'].filter((reader) => hasReader(reader));
const folder = mkdtempSync(join(tmpdir(), 'sluice-golden-arrow-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.skipIf(readers.length === 0)(
  `behavior: Python reads the same rows (${readers.join(', ') || 'skipped: neither pyarrow nor polars is installed'})`,
  () => {
    const expected: Record<string, readonly PlainRow[]> = {};
    for (const { name, body } of queries)
      for (const table of ARROW_TABLE_NAMES)
        for (const addresses of ARROW_ADDRESSES) {
          const query = parse(body);
          const file = `${name} ${table} ${addresses}`;
          writeFileSync(join(folder, file), answerArrow(query, { table, addresses }, 1));
          expected[file] = expectedRows(query, table);
        }
    const script = fileURLToPath(new URL('arrow-rows.py', import.meta.url));
    const output = execFileSync(python, [script, folder], { maxBuffer: 1 << 28 });
    const read = JSON.parse(output.toString()) as Record<string, typeof expected>;
    expect(Object.keys(read)).toEqual(readers);
    for (const reader of readers)
      for (const [file, rows] of Object.entries(expected))
        expect(read[reader]?.[file], `${reader}: ${file}`).toEqual(rows);
  },
);

function hasReader(name: string): boolean {
  try {
    execFileSync(python, ['-c', `import ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function answerArrow(query: Query, arrow: ArrowOutput, blocksPerSegment?: number): Uint8Array {
  const selected = selectTable(query, arrow);
  const body = answerFastBytes(selected, blocks, blocksPerSegment);
  return Buffer.concat([encodeSchema(arrowFields(selected, arrow)), body, END_OF_STREAM]);
}

function expectedRows(query: Query, table: ArrowOutput['table']): readonly PlainRow[] {
  const lines = answerFast(query, blocks).split('\n').filter(Boolean).map(parseLine);
  const hasSignature = query.fields.transaction.includes('signatures');
  const hasAllBlocks = query.includeAllBlocks;
  return rowsOfLines(lines, table, {
    hasAllBlocks,
    signatureOf: hasSignature ? signatureOf : undefined,
  });
}

function signatureOf(slot: number, index: number): string | null {
  const block = blocks.find(({ header }) => header.number === slot);
  const found = block?.transactions.find(({ transactionIndex }) => transactionIndex === index);
  return found?.signatures[0] ?? null;
}

/** Adds the fields that the tables have in any case, and those by which a test finds the signature of a record. */
function parse(body: string): Query {
  const query = parseQueryBody(body, { limits: QUERY_LIMITS, dialects: DIALECTS });
  const fields = mapKeys(KINDS, (kind) => {
    const names: readonly string[] = query.fields[kind];
    const added = kind === 'block' ? 'timestamp' : 'transactionIndex';
    return kind === 'reward' || names.includes(added) ? names : [...names, added];
  }) as Query['fields'];
  return { ...query, fields };
}
