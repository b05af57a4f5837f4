import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { systemClock } from '@sluice/base/clock';
import { BinaryWriter } from '@sluice/grpc/binary-writer';
import { encodeArchive, encodeSlotRanges } from '@sluice/grpc/encode-archive';
import {
  encodeProtobufBlock,
  type JsonBlock,
  parseJsonBlock,
} from '@sluice/grpc/encode-json-block';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WriterLock } from '../../storage/writer-lock.ts';
import { main } from '../main.ts';

let folder: string;
let lines: string[];
const at = (name: string) => join(folder, name);
const slotOf = (line: string | undefined) => Number(/^\{"slot":(\d+)/.exec(line ?? '')?.[1]);

beforeAll(async () => {
  // Each run adds listeners for the signals of the process, and these tests run many commands.
  process.setMaxListeners(100);
  folder = mkdtempSync(join(tmpdir(), 'sluice-import-'));
  const options = ['--seed', '3', '--skip-rate', '0.2', '--start-slot', '300'];
  await run('simulate', ...options, '--blocks', '40', '--out', at('all.jsonl'));
  lines = readFileSync(at('all.jsonl'), 'utf8').trimEnd().split('\n');
  writeFileSync(at('a.jsonl'), `${lines.slice(0, 15).join('\n')}\n`);
  writeFileSync(at('b.jsonl.gz'), gzipSync(lines.slice(15).join('\n')));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough({ highWaterMark: 1e9 });
  const err = new PassThrough({ highWaterMark: 1e9 });
  const code = await main(args, { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

interface RawTransaction {
  readonly version: unknown;
  readonly meta: unknown;
}

/** Returns a line with every digit of its integers. */
function parseLine(line: string): { slot: number; block: JsonBlock } {
  const start = line.indexOf('"block":') + '"block":'.length;
  return { slot: slotOf(line), block: parseJsonBlock(Buffer.from(line.slice(start, -1))) };
}

const importInto = (data: string, ...args: string[]) =>
  run('import', '--data', at(data), '--dataset', 'mine', ...args);

describe('sluice import', () => {
  test('default: several files become one dataset from their first block on, and the output says so', async () => {
    const { code, out, err } = await importInto('one', at('a.jsonl'), at('b.jsonl.gz'));
    expect(code).toBe(0);
    expect(err).toMatch(/^40 blocks, \d+\.\d MB, \d+ blocks\/s, \d+\.\d MB\/s, 100 %\n$/);
    const parent = (JSON.parse(lines[0] as string) as { block: { parentSlot: number } }).block;
    expect(out).toBe(
      `mine: 40 blocks imported; now slots ${parent.parentSlot + 1} to ${slotOf(lines.at(-1))}\n`,
    );
    // The files share segments.
    expect(readdirSync(at('one/mine/segments'))).toHaveLength(1);
  });

  test('behavior: archives and protobufs give the same segments as lines, and a second import changes nothing', async () => {
    const blocks = lines.map(parseLine);
    writeFileSync(at('first.car'), encodeArchive(blocks.slice(0, 25)).bytes);
    writeFileSync(at('second.car'), encodeArchive(blocks.slice(25)).bytes);
    const list = blocks.map(({ block }) =>
      new BinaryWriter().delimited(encodeProtobufBlock(block)),
    );
    const name = `${slotOf(lines[0])}-${slotOf(lines.at(-1))}.pb`;
    writeFileSync(at(name), Buffer.concat(list.map((one) => one.finish())));
    await importInto('by-lines', at('all.jsonl'));
    await importInto('by-protobuf', at(name));
    await importInto('by-archive', at('first.car'));
    const next = await importInto('by-archive', at('first.car'), at('second.car'));
    expect(next.out).toMatch(/^mine: 15 blocks imported, 25 already stored;/);
    const again = await importInto('by-archive', at('second.car'), at('first.car'));
    expect(again.out).toMatch(/^mine: 0 blocks imported, 40 already stored;/);
    const segments = (data: string) =>
      readdirSync(at(`${data}/mine/segments`)).map((one) =>
        createHash('sha256')
          .update(readFileSync(at(`${data}/mine/segments/${one}`)))
          .digest('hex'),
      );
    expect(segments('by-protobuf')).toEqual(segments('by-lines'));
    expect(readdirSync(at('by-archive/mine/segments'))).toHaveLength(2);
    const verified = await run('verify', '--data', at('by-archive'));
    expect(verified.code).toBe(0);
  });

  test('behavior: an archive with an index is read from the last stored block on', async () => {
    const blocks = lines.map(parseLine);
    const archive = encodeArchive(blocks);
    writeFileSync(at('epoch-0.car'), archive.bytes);
    writeFileSync(at('epoch-0-slot-ranges.raw'), encodeSlotRanges(archive, 0));
    await importInto('indexed', at('a.jsonl'));
    const { out } = await importInto('indexed', at('epoch-0.car'));
    expect(out).toMatch(/^mine: 25 blocks imported, 1 already stored;/);
    const again = await importInto('indexed', at('epoch-0.car'));
    expect(again.out).toMatch(/^mine: 0 blocks imported, 1 already stored;/);
  });

  test('error: a hole in an archive is reported with its slots, and filled from another file', async () => {
    const blocks = lines.map(parseLine);
    const holed = encodeArchive(blocks.filter((_, i) => i < 10 || i > 12)).bytes;
    writeFileSync(at('holed.car'), holed);
    const { code, err } = await importInto('hole', at('holed.car'));
    expect(code).toBe(1);
    const range = `from ${slotOf(lines[9]) + 1}, to ${slotOf(lines[12])}, child ${slotOf(lines[13])}`;
    expect(err).toContain(range);
    writeFileSync(at('missing.jsonl'), lines.slice(10, 13).join('\n'));
    await importInto('hole', at('missing.jsonl'));
    const filled = await importInto('hole', at('holed.car'));
    expect(filled.out).toMatch(/^mine: 27 blocks imported, 10 already stored;/);
  });

  test('behavior: a node gives the hash of the parent of the first block of an archive', async () => {
    const chain = { seed: 3, startSlot: 500, skipRate: 0.2, forkRate: 0 };
    const node = await startSimulatedNode({ paused: true, chain }, { clock: systemClock });
    writeFileSync(at('late.car'), encodeArchive([parseLine(lines[1] as string)]).bytes);
    try {
      const unknown = await importInto('late', at('late.car'), '--rpc', 'http://127.0.0.1:9');
      expect(unknown.err).toContain('[import-parent-unknown]');
      const known = await importInto('late', at('late.car'), '--rpc', node.rpcUrl);
      expect([known.code, known.err, known.out]).toEqual([
        0,
        expect.anything(),
        expect.stringContaining('1 blocks imported'),
      ]);
    } finally {
      await node.close();
    }
  });

  test('behavior: blocks that are already stored are skipped', async () => {
    await importInto('two', at('a.jsonl'));
    const { code, out } = await importInto('two', at('all.jsonl'));
    expect(code).toBe(0);
    expect(out).toMatch(/^mine: 25 blocks imported, 15 already stored; now slots/);
  });

  test('behavior: files that overlap become one dataset, also in the first run', async () => {
    const { code, out } = await importInto('overlap', at('a.jsonl'), at('all.jsonl'));
    expect(code).toBe(0);
    expect(out).toMatch(/^mine: 40 blocks imported, 15 already stored; now slots/);
  });

  test('behavior: an existing dataset keeps its options, and different ones are reported', async () => {
    await importInto('kept', '--votes', 'keep', at('a.jsonl'));
    const { err } = await importInto('kept', '--allow-missing', 'logs', at('b.jsonl.gz'));
    expect(err).toContain(
      'mine exists and keeps the options it was created with: votes keep, allow-missing none.',
    );
    const same = await importInto('kept', '--votes', 'keep', at('a.jsonl'));
    expect(same.err).not.toContain('keeps the options');
    await importInto('dropped', at('a.jsonl'));
    const sizeOf = (data: string) => {
      const segments = at(`${data}/mine/segments`);
      return statSync(join(segments, readdirSync(segments).sort()[0] as string)).size;
    };
    expect(sizeOf('kept')).toBeGreaterThan(sizeOf('dropped'));
  });

  test('behavior: --meta-optional and --allow-missing meta are the same, and a rejected block names the option', async () => {
    const line = JSON.parse(lines[0] as string) as { block: { transactions: RawTransaction[] } };
    // Only the meta has the addresses from lookup tables.
    const legacy = line.block.transactions.filter(({ version }) => version === 'legacy');
    line.block.transactions = legacy.map((transaction) => ({ ...transaction, meta: null }));
    expect(legacy.length).toBeGreaterThan(0);
    writeFileSync(at('bare.jsonl'), `${JSON.stringify(line)}\n`);
    const refused = await importInto('bare', at('bare.jsonl'));
    expect(refused.err).toMatch(/--meta-optional.*block-meta-missing/);
    for (const options of [['--meta-optional'], ['--allow-missing', 'meta']]) {
      const { code, err } = await importInto(
        `bare-${options.length}`,
        ...options,
        at('bare.jsonl'),
      );
      expect([code, err]).toMatchObject([0, expect.stringContaining('1 blocks')]);
    }
  });

  test('error: a key other than slot and block is reported itself, not only its effect on the block', async () => {
    writeFileSync(at('more.jsonl'), `${(lines[0] as string).replace(/\}$/, ',"x":1}')}\n`);
    const { code, err } = await importInto('more', at('more.jsonl'));
    expect([code, err]).toMatchObject([1, expect.stringMatching(/line 1.*no other key/)]);
  });

  test('behavior: files without a block create no dataset, and the output says so', async () => {
    writeFileSync(at('empty.jsonl'), '\n');
    const { code, out } = await importInto('empty', at('empty.jsonl'));
    expect([code, out]).toEqual([0, 'mine: the files contain no block; no dataset was created\n']);
    expect(existsSync(at('empty/mine'))).toBe(false);
  });

  test('error: chain-not-linked: file, line, slot and expected parent; the linked part stays', async () => {
    writeFileSync(at('gap.jsonl'), lines.filter((_, i) => i !== 20).join('\n'));
    const { code, out, err } = await importInto('gap', at('gap.jsonl'));
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('[chain-not-linked]');
    expect(err).toContain(`path ${at('gap.jsonl')}, line 21, slot ${slotOf(lines[21])}`);
    expect(err).toContain(`expectedParentSlot ${slotOf(lines[19])}`);
    const { out: rest } = await importInto('gap', at('all.jsonl'));
    expect(rest).toMatch(/^mine: 20 blocks imported, 20 already stored;/);
  });

  test('error: block-file-unreadable: no block of a compressed file with a wrong checksum is imported', async () => {
    // The data is stored uncompressed, so the flipped byte changes the first block, which remains a valid block.
    const packed = gzipSync(lines.join('\n'), { level: 0 });
    const at16 = packed.indexOf('"blockTime":') + 16;
    packed[at16] = (packed[at16] as number) ^ 1;
    writeFileSync(at('flipped.jsonl.gz'), packed);
    const { code, err } = await importInto('flipped', at('flipped.jsonl.gz'));
    expect([code, err]).toEqual([1, expect.stringContaining('damaged; copy it again')]);
    expect(existsSync(at('flipped/mine'))).toBe(false);
    const { out } = await importInto('flipped', at('all.jsonl'));
    expect(out).toContain('mine: 40 blocks imported; now');
  });

  test('error: every block before the end of a truncated file is imported', async () => {
    const whole = `${lines.slice(0, 20).join('\n')}\n`;
    writeFileSync(at('cut.jsonl'), whole + lines[20]?.slice(0, 400));
    const { code, err } = await importInto('cut', at('cut.jsonl'));
    expect([code, err]).toEqual([1, expect.stringContaining('line 21')]);
    // The file was read to its end, but not all of it was imported.
    expect(err).not.toContain('%');
    const { out: rest } = await importInto('cut', at('all.jsonl'));
    expect(rest).toMatch(/^mine: 20 blocks imported, 20 already stored;/);
  });

  test('error: import-block-foreign: a block at or below the head differs from the stored one', async () => {
    await importInto('mixed', at('b.jsonl.gz'));
    const { code, err } = await importInto('mixed', at('all.jsonl'));
    expect(code).toBe(1);
    expect(err).toContain('[import-block-foreign]');
    expect(err).toContain(`line 1, slot ${slotOf(lines[0])}`);
  });

  test('error: a missing file, or a file without a valid block, leaves no dataset behind', async () => {
    const missing = await importInto('none', at('a.jsonl'), at('nowhere.jsonl'));
    expect(missing.code).toBe(1);
    expect(missing.err).toContain(
      `(path ${at('nowhere.jsonl')}, reason no such file or directory)`,
    );
    expect(existsSync(at('none'))).toBe(false);
    writeFileSync(at('text.jsonl'), 'not a block\n');
    const wrong = await importInto('none', at('text.jsonl'));
    expect(wrong.err).toContain('[block-line-invalid]');
    expect(readdirSync(at('none'))).toEqual([]);
  });

  test('error: data-folder-locked: refused while another process writes to the folder', async () => {
    const lock = await WriterLock.acquire(at('held'));
    try {
      const { code, err } = await importInto('held', at('a.jsonl'));
      expect([code, err]).toEqual([1, expect.stringContaining('[data-folder-locked]')]);
    } finally {
      await lock.release();
    }
  });
});
