/** Files of blocks as a source of a configured dataset. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { main } from '../../packages/server/src/cli/main.ts';
import { ServiceProcess } from './service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-files-'));
const configFile = join(folder, 'sluice.yaml');
const second = join(folder, 'second.jsonl');
/** The blocks of a simulated ledger, one per line. */
let lines: readonly string[] = [];
let service: ServiceProcess;

beforeAll(async () => {
  const whole = join(folder, 'whole.jsonl');
  const options = ['--blocks', '60', '--profile', 'demo', '--out', whole];
  const ignored = { out: new PassThrough().resume(), err: new PassThrough().resume() };
  expect(await main(['simulate', ...options], ignored)).toBe(0);
  lines = readFileSync(whole, 'utf8').trimEnd().split('\n');
  writeFileSync(join(folder, 'first.jsonl.gz'), gzipSync(`${lines.slice(0, 30).join('\n')}\n`));
});
afterEach(() => service.end('SIGKILL'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(name: string): Promise<void> {
  const sources = '[{ kind: files, paths: [first.jsonl.gz, second.jsonl] }]';
  writeFileSync(configFile, `datasets:\n  - name: ${name}\n    sources: ${sources}\n`);
  service = await ServiceProcess.startServe(['--config', configFile]);
}

const slotAt = (index: number) =>
  (JSON.parse(lines[index] as string) as { readonly slot: number }).slot;

interface Status {
  readonly alarms: readonly { readonly code: string; readonly message: string }[];
}

async function until<Value>(what: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const found = await what().catch(() => undefined);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const untilHead = (name: string, slot: number) =>
  until(async () => {
    const head = await service.getJson<{ number: number } | null>(`/datasets/${name}/head`);
    return head?.number === slot ? head : undefined;
  });

test('default: files are read while the dataset is served; the next start reads only what was appended', async () => {
  writeFileSync(second, `${lines.slice(30, 40).join('\n')}\n`);
  await start('whole');
  await untilHead('whole', slotAt(39));
  const query = { fromBlock: slotAt(0), toBlock: slotAt(39), includeAllBlocks: true };
  const answer = await (await service.query('/datasets/whole/stream', query)).text();
  expect(answer.trimEnd().split('\n').length).toBe(40);
  const metadata = await service.getJson('/datasets/whole/metadata');
  expect(metadata).toMatchObject({ real_time: false, start_block: slotAt(0) });
  await until(async () => service.log.find((line) => line.includes('second.jsonl","blocks":10')));
  expect(await service.end('SIGTERM')).toBe(0);
  appendFileSync(second, `${lines.slice(40).join('\n')}\n`);
  await start('whole');
  await untilHead('whole', slotAt(59));
  const beginnings = () => service.log.filter((line) => line.includes('reading a file'));
  const begun = await until(async () => (beginnings().length === 0 ? undefined : beginnings()));
  expect(begun.map((line) => line.includes('second.jsonl'))).toEqual([true]);
});

test('error: a block that does not link raises an alarm with its position; the blocks before it are served', async () => {
  writeFileSync(second, `${lines.slice(30, 40).join('\n')}\n${lines[45]}\n`);
  await start('broken');
  const [alarm] = await until(async () => {
    const { alarms } = await service.getJson<Status>('/datasets/broken/status');
    return alarms.length === 0 ? undefined : alarms;
  });
  expect(alarm?.code).toBe('files-unread');
  expect(alarm?.message).toContain('line 11');
  await untilHead('broken', slotAt(39));
});
