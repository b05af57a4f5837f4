import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import * as zlib from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEGMENT_LIMITS } from '../../segment/layout/limits.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { decodeBlocks } from '../../segment/testing/decode-blocks.ts';
import { main } from '../main.ts';

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  // Each run adds listeners for the signals of the process, and these tests run many commands.
  process.setMaxListeners(100);
  folder = mkdtempSync(join(tmpdir(), 'sluice-segment-'));
  const options = ['--seed', '3', '--skip-rate', '0.2', '--start-slot', '300'];
  await run('simulate', ...options, '--blocks', '40', '--out', at('all.jsonl'));
  const lines = readFileSync(at('all.jsonl'), 'utf8').split('\n');
  writeFileSync(at('a.jsonl'), `${lines.slice(0, 15).join('\n')}\n\n`);
  // Two gzip members, without a line feed at the end.
  const members = [lines.slice(15, 30).join('\n'), `\n${lines.slice(30, 40).join('\n')}`];
  writeFileSync(at('b.jsonl.gz'), Buffer.concat(members.map((text) => zlib.gzipSync(text))));
  await run('pack', '--out', at('all.segment'), at('all.jsonl'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough({ highWaterMark: 1e9 });
  const err = new PassThrough({ highWaterMark: 1e9 });
  const code = await main(args, { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const readSegment = (path: string) => decodeBlocks(openSegment(readFileSync(path)));

describe('sluice pack', () => {
  test('default: a segment is created from the blocks without votes, and its size is printed', async () => {
    const { code, out, err } = await run('pack', '--out', at('one.segment'), at('all.jsonl'));
    expect([code, err]).toEqual([0, expect.stringMatching(/^40 blocks, /)]);
    const blocks = readSegment(at('one.segment'));
    const slots = readFileSync(at('all.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => Number(/^\{"slot":(\d+)/.exec(line)?.[1]));
    expect(blocks.map(({ header }) => header.number)).toEqual(slots);
    const transactions = blocks.flatMap((block) => block.transactions);
    expect(out).toBe(
      `${at('one.segment')}: 40 blocks, slots ${slots[0]} to ${slots.at(-1)}, ${transactions.length} transactions, ` +
        `${statSync(at('one.segment')).size.toLocaleString('en-US')} bytes\n`,
    );
  });

  test('behavior: several files, several gzip members and empty lines give the same bytes', async () => {
    await run('pack', '--out', at('two.segment'), at('a.jsonl'), at('b.jsonl.gz'));
    expect(sha256(at('two.segment'))).toBe(sha256(at('all.segment')));
  });

  test.skipIf(!('zstdCompressSync' in zlib))(
    'behavior: zstd is read if the runtime supports it',
    async () => {
      const compress = (zlib as unknown as { zstdCompressSync: (bytes: Buffer) => Buffer })
        .zstdCompressSync;
      writeFileSync(at('z.jsonl.zst'), compress(readFileSync(at('all.jsonl'))));
      await run('pack', '--out', at('z.segment'), at('z.jsonl.zst'));
      expect(sha256(at('z.segment'))).toBe(sha256(at('all.segment')));
    },
  );

  test('behavior: --votes keep keeps vote transactions', async () => {
    await run('pack', '--votes', 'keep', '--out', at('votes.segment'), at('all.jsonl'));
    const count = (name: string) => readSegment(at(name)).flatMap((b) => b.transactions).length;
    expect(count('votes.segment')).toBeGreaterThan(count('all.segment'));
  });

  test('behavior: --meta-optional and --allow-missing accept blocks that are rejected without them', async () => {
    const transaction = {
      transaction: {
        signatures: ['1'.repeat(64)],
        message: {
          header: {
            numRequiredSignatures: 1,
            numReadonlySignedAccounts: 0,
            numReadonlyUnsignedAccounts: 1,
          },
          accountKeys: ['So11111111111111111111111111111111111111112', '1'.repeat(32)],
          recentBlockhash: '1'.repeat(32),
          instructions: [{ programIdIndex: 1, accounts: [0], data: '' }],
        },
      },
      meta: null,
    };
    const block = {
      blockhash: 'So11111111111111111111111111111111111111112',
      previousBlockhash: 'So11111111111111111111111111111111111111113',
      parentSlot: 4,
      blockTime: null,
      transactions: [transaction],
    };
    writeFileSync(at('old.jsonl'), JSON.stringify({ slot: 5, block }));
    const refused = await run('pack', '--out', at('old.segment'), at('old.jsonl'));
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('[block-')]);
    expect(refused.err).toContain(`path ${at('old.jsonl')}, line 1, slot 5`);
    const allow = ['--meta-optional', '--allow-missing', 'logs,rewards'];
    const taken = await run('pack', ...allow, '--out', at('old.segment'), at('old.jsonl'));
    expect([taken.code, taken.err]).toEqual([0, expect.any(String)]);
    expect(readSegment(at('old.segment'))[0]?.transactions[0]?.fee).toBe(null);
  });

  test('limit: a full segment ends the command, and the output names the first block that is not in it', async () => {
    const block =
      '{"blockhash":"11111111111111111111111111111112","previousBlockhash":"1","parentSlot":0,"transactions":[],"rewards":[]}';
    const count = SEGMENT_LIMITS.blockCountMax + 3;
    const lines = Array.from({ length: count }, (_, i) => `{"slot":${i + 1},"block":${block}}\n`);
    const path = at('many.jsonl');
    writeFileSync(
      path,
      lines
        .join('')
        .replaceAll('"previousBlockhash":"1"', `"previousBlockhash":"${'1'.repeat(32)}"`),
    );
    const { code, out } = await run('pack', '--out', at('many.segment'), path);
    expect(code).toBe(0);
    const next = SEGMENT_LIMITS.blockCountMax + 1;
    expect(out).toContain(
      `The first block that is not in it: ${path}, line ${next}, slot ${next}.`,
    );
    expect(readSegment(at('many.segment'))).toHaveLength(SEGMENT_LIMITS.blockCountMax);
  });

  const good = '{"slot":1,"block":{}}';
  test.each([
    ['not JSON', 'x', 'line 1, expected {"slot":N,"block":{…}}'],
    ['another key', '{"blok":{},"slot":1}', 'line 1, expected {"slot":N,'],
    [
      'a slot that is not a safe integer',
      '{"slot":9007199254740993,"block":{}}',
      'line 1, expected',
    ],
    ['a truncated line', good.slice(0, -2), 'line 1, expected {"slot":N,'],
    ['a byte order mark', `\ufeff${good}`, 'line 1, found a byte order mark'],
  ])(
    'error: block-line-invalid for %s names the file, the line and the expected content',
    async (_, text, expected) => {
      writeFileSync(at('bad.jsonl'), text);
      const { code, err } = await run('pack', '--out', at('bad.segment'), at('bad.jsonl'));
      expect(code).toBe(1);
      expect(err).toContain(`path ${at('bad.jsonl')}, ${expected}`);
      expect(err).toContain('[block-line-invalid]');
      expect(readdirSync(folder).filter((name) => name.startsWith('bad.segment'))).toEqual([]);
    },
  );

  test.each([
    [
      'a field that is missing',
      '{"slot":7,"block":{}}',
      'line 2, slot 7, field parentSlot, found nothing, expected an integer from 0 to',
    ],
    ['a key after the block', '{"slot":7,"block":{},"x":1}', '[block-not-json]'],
  ])(
    'error: a line without a valid block, %s, is named by its number',
    async (_, text, expected) => {
      writeFileSync(at('bad.jsonl'), `\n${text}\n`);
      const { code, err } = await run('pack', '--out', at('bad.segment'), at('bad.jsonl'));
      expect([code, err]).toEqual([1, expect.stringContaining(expected)]);
    },
  );

  test('error: block-slots-not-ascending, within a file and between files', async () => {
    const { code, err } = await run(
      'pack',
      '--out',
      at('x.segment'),
      at('b.jsonl.gz'),
      at('a.jsonl'),
    );
    expect([code, err]).toEqual([1, expect.stringContaining('[block-slots-not-ascending]')]);
    expect(err).toContain(`path ${at('a.jsonl')}, line 1, slot 300`);
  });

  test('error: block-file-unreadable for a missing or truncated file', async () => {
    const missing = await run('pack', '--out', at('x.segment'), at('missing.jsonl'));
    expect([missing.code, missing.err]).toEqual([
      1,
      expect.stringContaining('reason no such file or directory'),
    ]);
    expect(missing.err).toContain(
      `(path ${at('missing.jsonl')}, reason no such file or directory)`,
    );
    const notFile = await run('pack', '--out', at('x.segment'), folder);
    expect(notFile.err).toContain(`(path ${folder}, reason illegal operation on a directory)`);
    writeFileSync(at('cut.gz'), readFileSync(at('b.jsonl.gz')).subarray(0, -30));
    const cut = await run('pack', '--out', at('x.segment'), at('cut.gz'));
    expect([cut.code, cut.err]).toEqual([1, expect.stringContaining('[block-file-unreadable]')]);
    expect(cut.err).toContain(`path ${at('cut.gz')}, line`);
  });

  test('error: files without a block are refused with the expected format, and no segment is created', async () => {
    writeFileSync(at('empty.jsonl'), '\n\n');
    const { code, err } = await run('pack', '--out', at('empty.segment'), at('empty.jsonl'));
    expect([code, err]).toEqual([1, expect.stringContaining('[block-line-invalid]')]);
    expect(err).toContain(`path ${at('empty.jsonl')}, found no blocks, expected {"slot":N,`);
    expect(readdirSync(folder).filter((name) => name.startsWith('empty.segment'))).toEqual([]);
  });

  test('behavior: --force writes to the target of a symbolic link, and the link stays', async () => {
    writeFileSync(at('target.segment'), 'old');
    symlinkSync('target.segment', at('link.segment'));
    const { code } = await run('pack', '--force', '--out', at('link.segment'), at('all.jsonl'));
    expect([code, readlinkSync(at('link.segment'))]).toEqual([0, 'target.segment']);
    expect(sha256(at('target.segment'))).toBe(sha256(at('all.segment')));
  });

  test('error: cli-file-irregular: --force does not replace a FIFO', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const { code, err } = await run('pack', '--force', '--out', at('fifo'), at('all.jsonl'));
    expect([code, err]).toEqual([1, expect.stringContaining('[cli-file-irregular]')]);
    expect(err).toContain('found a FIFO');
    expect(statSync(at('fifo')).isFIFO()).toBe(true);
  });

  test.each([
    [['pack', '--otu', 's', 'a.jsonl'], '--out'],
    [['pack', 'a.jsonl', '--otu', 's'], '--out'],
    [['explain', '--qurey', 'q', 'a.segment'], '--query'],
    [['import', '--datset', 'd', 'a.jsonl'], '--dataset'],
  ])('error: %j suggests the name of the misspelled required option', async (args, name) => {
    const { code, err } = await run(...args);
    expect([code, err]).toEqual([2, expect.stringContaining(`Did you mean ${name}?`)]);
  });

  test('error: a missing required option is named', async () => {
    const { code, err } = await run('pack', 'a.jsonl');
    expect(code).toBe(2);
    expect(err).toBe(
      "error: required option '--out <file>' not specified\n(see sluice pack --help)\n",
    );
  });

  test('error: cli-file-exists unless forced', async () => {
    const { code, err } = await run('pack', '--out', at('a.jsonl'), at('all.jsonl'));
    expect([code, err]).toEqual([1, expect.stringContaining('[cli-file-exists]')]);
    writeFileSync(at('old'), 'old');
    expect((await run('pack', '--force', '--out', at('old'), at('all.jsonl'))).code).toBe(0);
    expect(sha256(at('old'))).toBe(sha256(at('all.segment')));
  });

  test('error: cli-file-is-input: an input file is not overwritten, even with --force and by another name', async () => {
    copyFileSync(at('all.jsonl'), at('precious.jsonl'));
    symlinkSync(at('precious.jsonl'), at('link.jsonl'));
    for (const out of ['precious.jsonl', 'link.jsonl']) {
      const { code, err } = await run('pack', '--force', '--out', at(out), at('precious.jsonl'));
      expect([code, err]).toEqual([1, expect.stringContaining('[cli-file-is-input]')]);
    }
    expect(sha256(at('precious.jsonl'))).toBe(sha256(at('all.jsonl')));
  });

  test('error: a missing folder cannot be written to', async () => {
    const { code, err } = await run('pack', '--out', at('none/x'), at('all.jsonl'));
    expect([code, err]).toEqual([1, expect.stringContaining('[cli-file-unwritable]')]);
  });

  test.each([
    [['--out', 'x']],
    [['x.jsonl']],
    [['--out', 'x', '--votes', 'all', 'y']],
    [['--out', 'x', '--allow-missing', 'blocks', 'y']],
  ])('error: %j is refused', async (args) => {
    expect((await run('pack', ...args)).code).toBe(2);
  });
});

describe('sluice inspect', () => {
  test('default: a table whose parts add up to the file', async () => {
    const { code, out } = await run('inspect', at('all.segment'));
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toMatch(/: segment of version 2, slots \d+ to \d+, 40 blocks, /);
    for (const name of [
      'transactions',
      'instructions',
      'logs',
      'keys',
      'postings',
      'fingerprints',
      'hash',
    ]) {
      expect(
        lines.some((line) => line.split(/ {2,}/)[1] === name),
        name,
      ).toBe(true);
    }
    const size = statSync(at('all.segment')).size.toLocaleString('en-US');
    expect(lines.at(-1)).toMatch(new RegExp(`^everything +total .* ${size} +\\d.*100\\.00%$`));
  });

  test('behavior: --json lists every part, and the parts add up to the file', async () => {
    const { out } = await run('inspect', '--json', at('all.segment'));
    const { fileBytes, parts, blockCount } = JSON.parse(out);
    expect([fileBytes, blockCount]).toEqual([statSync(at('all.segment')).size, 40]);
    const sum = parts.reduce(
      (total: number, part: { storedBytes: number }) => total + part.storedBytes,
      0,
    );
    expect(sum).toBe(fileBytes);
  });

  test('error: a file that is missing, damaged or not a segment is named', async () => {
    const other = await run('inspect', at('all.jsonl'));
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('[segment-not-one]')]);
    expect(other.err).toContain(`file ${at('all.jsonl')}`);
    const bytes = readFileSync(at('all.segment'));
    bytes[bytes.length - 60] = (bytes[bytes.length - 60] as number) ^ 1;
    writeFileSync(at('flipped.segment'), bytes);
    const flipped = await run('inspect', at('flipped.segment'));
    expect(flipped.err).toContain('unit directory');
    const missing = await run('inspect', at('missing'));
    expect(missing.err).toContain(`(path ${at('missing')}) [file-unreadable]`);
    const directory = await run('inspect', folder);
    expect(directory.err).toContain('[cli-file-unreadable]');
  });
});

describe('sluice explain', () => {
  const ask = async (query: unknown, ...args: string[]) => {
    writeFileSync(at('q.json'), JSON.stringify(query));
    return run('explain', '--query', at('q.json'), ...args);
  };

  test('default: the plan and the cost of each item are shown', async () => {
    const program = readSegment(at('all.segment')).flatMap((b) => b.instructions)[0]?.programId;
    const query = {
      fromBlock: 0,
      instructions: [{ programId: [program] }, { programId: [`${'1'.repeat(31)}3`] }],
      logs: [{ kind: ['data'] }],
    };
    const { code, out, err } = await ask(query, '--json', at('all.segment'));
    expect([code, err]).toEqual([0, '']);
    const { segments, total } = JSON.parse(out);
    const [cost] = segments;
    const instructions = readSegment(at('all.segment')).flatMap((b) => b.instructions);
    const itemOf = (name: string, value: string | undefined) =>
      cost.items.find(
        (item: { filters: Record<string, string[]> }) => item.filters[name]?.[0] === value,
      );
    expect(cost.items).toHaveLength(3);
    expect(itemOf('programId', `${'1'.repeat(31)}3`)).toMatchObject({
      isInSegment: false,
      rowsMatched: 0,
    });
    expect(itemOf('programId', program)).toMatchObject({
      rowsMatched: instructions.filter(({ programId }) => programId === program).length,
    });
    expect(itemOf('kind', 'data')).toMatchObject({ array: 'logs', drivenBy: null });
    expect(cost.groupsRead).toBe(1);
    const { selected } = total;
    const exact = instructions.filter(({ programId }) => programId === program).length;
    expect(selected.instructions).toMatchObject({ min: 0, exact });
    expect(selected.instructions.max).toBeGreaterThanOrEqual(exact);
    expect(selected.blocks.exact).toBeGreaterThan(0);
    expect(selected.blocks.exact).toBeLessThanOrEqual(cost.lines);
    for (const name of ['pagesRead', 'bytesRead', 'bytesInflated', 'lines', 'answerBytes']) {
      expect(cost[name], name).toBeGreaterThan(0);
      expect(total[name], name).toBe(cost[name]);
    }
  });

  test('behavior: the list of a rare address is scanned, and a segment without the address is not read', async () => {
    copyFileSync(at('all.segment'), at('other.segment'));
    const rare = readSegment(at('all.segment')).flatMap((b) => b.transactions)[0]?.accountKeys[0];
    const absent = { fromBlock: 0, transactions: [{ feePayer: [`${'1'.repeat(31)}3`] }] };
    const { out } = await ask(absent, at('all.segment'), at('other.segment'));
    expect(out).toContain('nothing: not in this segment');
    expect(out).toMatch(/^total +0 of 2 +0 +0 +0 /m);
    const empty = { fromBlock: 0, instructions: [{ a0: [] }] };
    expect((await ask(empty, at('all.segment'))).out).toContain('nothing: a0 is an empty list');
    const found = await ask(
      { fromBlock: 0, transactions: [{ feePayer: [rare] }] },
      at('all.segment'),
    );
    expect(found.out).toMatch(/^transactions feePayer=\w+… +feePayer +\d+ +\d+ +\d+$/m);
  });

  test('behavior: the plan covers only the range of the query, and a file that is given twice is read once', async () => {
    const blocks = readSegment(at('all.segment'));
    const { number } = (blocks[3] as (typeof blocks)[number]).header;
    const payer = blocks[3]?.transactions[0]?.accountKeys[0];
    const query = {
      fromBlock: number,
      toBlock: number,
      transactions: [{ feePayer: [payer] }],
      logs: [{}],
    };
    const { out, err } = await ask(query, '--json', at('all.segment'), at('all.segment'));
    expect(err).toBe(`${at('all.segment')} is given more than once; it is read once.\n`);
    const [{ items }, ...more] = JSON.parse(out).segments;
    expect(more).toEqual([]);
    const count = blocks[3]?.transactions.length as number;
    const byArray = (name: string) => items.find(({ array }: { array: string }) => array === name);
    expect(byArray('logs')).toMatchObject({ transactionsEstimated: count });
    expect(byArray('transactions').transactionsEstimated).toBeLessThanOrEqual(count);
    expect(byArray('transactions').transactionsListed ?? count).toBeLessThanOrEqual(count);
  });

  test('behavior: a query without items shows only headers', async () => {
    const { out } = await ask({ fromBlock: 0, includeAllBlocks: true }, at('all.segment'));
    expect(out).toContain('no items: headers only');
    expect(out).toMatch(/ 0 of 1 +0 +0 +0 .* 40 /);
  });

  test('error: an invalid query or file is refused with its name', async () => {
    const query = await ask({ fromBlok: 0 }, at('all.segment'));
    expect(query.code).toBe(1);
    expect(query.err).toContain(`file ${at('q.json')}`);
    expect(query.err).toContain('[query-key-unknown]');
    const missing = await ask({ fromBlock: 0 }, at('missing'));
    expect(missing.err).toContain('[file-unreadable]');
    const unknown = await ask({ fromBlock: 0 }, 'nothing');
    expect(unknown.err).toContain('(dataset nothing, folder ./data) [cli-dataset-missing]');
    const noQuery = await run('explain', '--query', at('missing'), at('all.segment'));
    expect(noQuery.err).toContain(
      `path ${at('missing')}, reason no such file or directory) [cli-file-unreadable]`,
    );
    expect((await run('explain', at('all.segment'))).code).toBe(2);
  });
});
