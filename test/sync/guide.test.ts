/** Follows the guide "A DEX in your PostgreSQL in five minutes" with the demo and real PostgreSQL. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterAll, expect, test } from 'vitest';
import { hasPostgres, startPostgres } from '../examples/postgres-server.ts';
import { repositoryRoot } from '../repository-files.ts';
import { ServiceProcess } from '../service/service-process.ts';
import { SyncProcess } from './sync-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-dex-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const page = readFileSync(join(repositoryRoot, 'docs/guide/dex-in-postgresql.md'), 'utf8');
const blocks = [...page.matchAll(/^```(\w*)\n(.*?)^```/gms)].map(([, kind = '', text = '']) => ({
  kind,
  text,
}));
const textsOf = (kind: string) => blocks.filter((one) => one.kind === kind).map((one) => one.text);

test.skipIf(!hasPostgres)(
  `behavior: every command and statement of the guide works, and the chart has the swaps${hasPostgres ? '' : ' (skipped: PostgreSQL is not installed)'}`,
  async () => {
    const database = await startPostgres();
    const demo = await ServiceProcess.startDemo(join(folder, 'data'));
    const file = join(folder, 'dex.yaml');
    writeFileSync(file, textsOf('yaml')[0] ?? '');
    const commands = textsOf('').flatMap((text) => /^npx sluice sync (.*)/.exec(text)?.[1] ?? []);
    expect(commands).toHaveLength(3);
    const [dryRun = [], fill = [], status = []] = commands.map((line) =>
      line
        .split(' ')
        .map((word) =>
          word.replace('postgres://127.0.0.1/dex', database.url).replace('dex.yaml', file),
        )
        .map((word) => (word === 'ledger-beta' ? `${demo.url}/datasets/ledger-beta` : word)),
    );
    const sync = new SyncProcess(fill).start();
    try {
      const reader = `select count(*)::int as count from swaps where slot > 250`;
      const count = async () =>
        Number((await database.query(reader).catch(() => []))[0]?.['count'] ?? 0);
      while ((await count()) < 100) await systemClock.sleep(50);
      const [busiest = '', view = '', index = '', chart = '', refresh = ''] = textsOf('sql');
      expect((await database.query(busiest)).length).toBeGreaterThan(1);
      await database.query(view);
      await database.query(index);
      const candles = await database.query(chart);
      expect(candles.length).toBeGreaterThan(1);
      for (const { low, open, close, high } of candles) {
        expect(Number(low)).toBeGreaterThan(0);
        for (const price of [open, close]) {
          expect(Number(price)).toBeGreaterThanOrEqual(Number(low));
          expect(Number(price)).toBeLessThanOrEqual(Number(high));
        }
      }
      await database.query(refresh);
      const [missing] = await database.query(
        'select count(*)::int as count from swaps where amount_in is null or amount_out is null or trader is null',
      );
      expect(missing).toEqual({ count: 0 });
      const dry = new SyncProcess(dryRun).start();
      expect(await dry.finish(), dry.errors).toBe(0);
      expect(dry.output).toContain('create table "public"."swaps"');
      const shown = new SyncProcess(status).start();
      expect(await shown.finish(), shown.errors).toBe(0);
      expect(shown.output).toContain('public.swaps');
    } finally {
      await sync.kill('SIGTERM');
      await demo.end('SIGKILL');
      await database.close();
    }
  },
);
