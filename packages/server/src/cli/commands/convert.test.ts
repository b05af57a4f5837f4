import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeArchive } from '@sluice/grpc/encode-archive';
import { parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runMain } from '../testing/run-main.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-convert-'));
const at = (name: string) => join(folder, name);
const run = (...args: string[]) => runMain(args);
let lines: string[];
let pb: string;
const slotOf = (line: string | undefined) => Number(/^\{"slot":(\d+)/.exec(line ?? '')?.[1]);
const blockOf = (line: string) => line.slice(line.indexOf('"block":') + '"block":'.length, -1);

beforeAll(async () => {
  // Each run adds listeners for the signals of the process.
  process.setMaxListeners(100);
  const options = ['--seed', '3', '--skip-rate', '0.2', '--start-slot', '300'];
  await run('simulate', ...options, '--blocks', '12', '--out', at('all.jsonl'));
  lines = readFileSync(at('all.jsonl'), 'utf8').trimEnd().split('\n');
  const blocks = lines.map((line) => ({
    slot: slotOf(line),
    block: parseJsonBlock(Buffer.from(blockOf(line))),
  }));
  writeFileSync(at('all.car'), encodeArchive(blocks).bytes);
  mkdirSync(at('pb'));
  pb = at(`pb/${slotOf(lines[0])}-${slotOf(lines.at(-1))}.pb`);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Imports a file. The names of segments have the checksums of their content. */
async function segmentsOf(name: string, path: string): Promise<string[]> {
  const { code, err } = await run('import', '--data', at('data'), '--dataset', name, path);
  expect([code, err]).toEqual([0, expect.any(String)]);
  return readdirSync(at(`data/${name}/segments`)).filter((file) => file.endsWith('.segment'));
}

test('default: lines, archives and protobufs become each other, and give the same segments', async () => {
  const expected = await segmentsOf('lines', at('all.jsonl'));
  const slots = `slots ${slotOf(lines[0])} to ${slotOf(lines.at(-1))}`;
  const converted = await run('convert', '--out', at('pb'), at('all.jsonl'));
  expect([converted.code, converted.out]).toEqual([0, `${pb}: 12 blocks, ${slots}\n`]);
  expect(readdirSync(at('pb'))).toHaveLength(1);
  expect(await segmentsOf('protobufs', pb)).toEqual(expected);
  await run('convert', '--out', at('again.jsonl.gz'), pb);
  expect(await segmentsOf('again', at('again.jsonl.gz'))).toEqual(expected);
  // An archive lacks the hash of the parent of its first block, here and in the converted lines.
  const fromArchive = await segmentsOf('archive', at('all.car'));
  await run('convert', '--out', at('car.jsonl'), at('all.car'));
  expect(await segmentsOf('car-lines', at('car.jsonl'))).toEqual(fromArchive);
  mkdirSync(at('car'));
  await run('convert', '--out', at('car'), at('car.jsonl'));
  const [name] = readdirSync(at('car'));
  expect(await segmentsOf('car-protobufs', at(`car/${name}`))).toEqual(fromArchive);
});

test('behavior: lines that stay lines are not changed, and go to standard output with -', async () => {
  const { code, out, err } = await run('convert', '--out', '-', at('all.jsonl'));
  expect([code, out]).toEqual([0, readFileSync(at('all.jsonl'), 'utf8')]);
  expect(err).toContain('-: 12 blocks');
});

test('error: cli-block-not-convertible: a hole in a file of protobufs, and an error without a number, are refused', async () => {
  mkdirSync(at('refused'));
  const convert = async (text: string) => {
    writeFileSync(at('wrong.jsonl'), text);
    const { code, err } = await run('convert', '--out', at('refused'), at('wrong.jsonl'));
    expect([code, readdirSync(at('refused'))]).toEqual([1, []]);
    return err;
  };
  expect(await convert(lines.toSpliced(4, 1).join('\n'))).toContain('[cli-block-not-convertible]');
  const line = lines.find((one) => one.includes('"err":null')) ?? '';
  expect(await convert(line.replace('"err":null', '"err":"NeverSeen"'))).toMatch(
    /\[block-[a-z-]+\]/,
  );
});

test('error: an output that exists, that is an input, or that has no known form is refused', async () => {
  const errorOf = async (out: string, ...more: string[]) =>
    (await run('convert', '--out', at(out), ...more, at('all.jsonl'))).err;
  writeFileSync(at('there.jsonl'), '');
  expect(await errorOf('there.jsonl')).toContain('[cli-file-exists]');
  expect(await errorOf('all.jsonl', '--force')).toContain('[cli-file-is-input]');
  expect(await errorOf('all.car')).toContain('--out needs a name *.jsonl');
  writeFileSync(at('empty.jsonl'), '');
  const { err } = await run('convert', '--out', at('none.jsonl'), at('empty.jsonl'));
  expect(err).toContain('[block-line-invalid]');
});
