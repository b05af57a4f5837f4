/** Tests `sluice tail`, `head`, `status` and `doctor` with a service in this process and with a data folder. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HttpFixture } from '../../http/testing/http-fixture.ts';
import { makeHash } from '../../stream/testing/make-block.ts';
import { runMain } from '../testing/run-main.ts';

let fixture: HttpFixture;
let folder: string;
beforeEach(async () => {
  process.setMaxListeners(100);
  folder = mkdtempSync(join(tmpdir(), 'sluice-watch-'));
  fixture = await HttpFixture.start({ clock: systemClock });
  vi.stubEnv('SLUICE_URL', `http://127.0.0.1:${fixture.port}`);
  vi.stubEnv('NO_COLOR', '1');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await fixture.close();
  rmSync(folder, { recursive: true });
});

async function importBlocks(): Promise<void> {
  const blocks = join(folder, 'blocks.jsonl');
  await runMain(['simulate', '--start-slot', '300', '--blocks', '5', '--out', blocks]);
  await runMain(['import', '--data', join(folder, 'data'), '--dataset', 'mine', blocks]);
}

describe('sluice tail', () => {
  test('default: through a pipe, each block and each fork is a JSON line, with finality', async () => {
    const running = runMain(['tail', '--last', '2', '--blocks', '6']);
    await untilWaiting();
    fixture.dataset.extend([111, 112]);
    await untilWaiting();
    fixture.dataset.finalize(109);
    fixture.dataset.fork(110, [112, 113], 'b');
    const { code, out } = await running;
    expect(code).toBe(0);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ kind, number, to }) => [kind, number ?? to])).toEqual([
      ...[109, 110, 111, 112].map((slot) => ['block', slot]),
      ['rollback', { number: 110, hash: makeHash('a', 110) }],
      ['block', 112],
      ['block', 113],
    ]);
    expect(lines[0]).toMatchObject({ finalizedHead: { number: 103 } });
    expect(lines.at(-1)).toMatchObject({
      finalizedHead: { number: 109 },
      hash: makeHash('b', 113),
    });
  });

  test('behavior: on a terminal, each block is a line of text', async () => {
    const { out, err } = await runMain(['tail', '--last', '2', '--blocks', '2'], true);
    expect(err).toContain('ledger-test, from http://127.0.0.1:');
    expect(out).toMatch(
      /^\d\d:\d\d:\d\d {2}109 {2}\w{8} +0 transactions +0 instructions {2}finalized 103 \(-6\)/,
    );
  });

  test('behavior: with a data folder, the command ends at the head', async () => {
    await importBlocks();
    const { code, out } = await runMain(['tail', '--data', join(folder, 'data')]);
    expect([code, out.trimEnd().split('\n')]).toEqual([0, expect.objectContaining({ length: 5 })]);
  });

  async function untilWaiting(): Promise<void> {
    await vi.waitFor(() => expect(fixture.streams.waiterCount).toBe(1), {
      timeout: 60_000,
      interval: 5,
    });
  }
});

describe('sluice head', () => {
  test('default: through a pipe, both heads are JSON; --number prints only the slot', async () => {
    const { out } = await runMain(['head']);
    expect(JSON.parse(out)).toEqual({
      dataset: 'ledger-test',
      head: { number: 110, hash: makeHash('a', 110) },
      finalized_head: { number: 103, hash: makeHash('a', 103) },
    });
    expect((await runMain(['head', '--finalized', '--number'])).out).toBe('103\n');
    expect((await runMain(['head'], true)).out).toMatch(/head +110 .*\nfinalized +103 /s);
  });

  test('error: service-unreachable when no process listens', async () => {
    const url = `http://127.0.0.1:${fixture.port}/datasets/mine`;
    await fixture.close();
    const { code, err } = await runMain(['head', url]);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('connection refused) [service-unreachable]'),
    ]);
  });
});

describe('sluice status', () => {
  test('default: every dataset of a service is shown, or only the named one', async () => {
    const all = JSON.parse((await runMain(['status'])).out) as object[];
    expect(all).toMatchObject([{ dataset: 'ledger-test', block_count: 9 }]);
    const one = JSON.parse((await runMain(['status', 'ledger-test'])).out) as object;
    expect(one).toMatchObject({ dataset: 'ledger-test' });
    const { out } = await runMain(['status'], true);
    expect(out).toMatch(
      /^dataset +start +finalized +head +blocks .*\nledger-test +99 +103 +110 +9 /,
    );
  });

  test('behavior: the status of a data folder shows the stored range', async () => {
    await importBlocks();
    const { out } = await runMain(['status', '--data', join(folder, 'data')]);
    expect(JSON.parse(out)).toMatchObject([{ dataset: 'mine', real_time: false, block_count: 5 }]);
  });

  test('error: a named dataset that does not exist fails the command', async () => {
    const served = await runMain(['status', 'nosuch']);
    expect([served.code, served.out]).toEqual([1, '']);
    expect(served.err).toContain('found ledger-test) [service-dataset-missing]');
    const addressed = await runMain(['status', `${process.env['SLUICE_URL']}/datasets/nosuch`]);
    expect([addressed.code, addressed.out]).toEqual([1, '']);
    expect(addressed.err).toMatch(/datasets\/nosuch.*\) \[cli-dataset-missing\]/);
    await importBlocks();
    const stored = await runMain(['status', 'nosuch', '--data', join(folder, 'data')]);
    expect([stored.code, stored.out]).toEqual([1, '']);
    expect(stored.err).toContain('found mine) [cli-dataset-missing]');
  });
});

describe('sluice doctor', () => {
  const doctor = async (...args: string[]) => {
    const { code, out, err } = await runMain([
      'doctor',
      '--port',
      '0',
      '--admin-port',
      '0',
      ...args,
    ]);
    const findings = JSON.parse(out) as {
      area: string;
      state: string;
      text: string;
      remedy?: string;
    }[];
    const of = (area: string) => findings.filter((finding) => finding.area === area);
    return { code, err, findings, of };
  };

  test('default: an undamaged folder has no problem', async () => {
    await importBlocks();
    const { code, findings, of } = await doctor('--data', join(folder, 'data'));
    expect([code, findings.filter(({ state }) => state === 'wrong')]).toEqual([0, []]);
    expect(
      of('data')
        .map(({ text }) => text)
        .join(),
    ).toMatch(/mine: slots 3\d\d to 3\d\d, 5 blocks/);
  });

  test('behavior: a portal that responds is shown with its slot, and the clocks are compared', async () => {
    const url = `http://127.0.0.1:${fixture.port}/datasets/ledger-test`;
    const { of } = await doctor('--data', join(folder, 'none'), '--portal', url);
    expect(of('sources')[0]?.text).toBe('portal-1 responds, is at slot 110, starts at slot 99');
    expect(of('clock')).toMatchObject([{ state: 'ok' }]);
  });

  test('error: doctor-failed: a source that does not respond, a dataset that cannot be read, a port that is in use', async () => {
    await importBlocks();
    writeFileSync(join(folder, 'data/mine/manifest.json'), '{}');
    const taken = createServer((_request, response) => response.end('something else'));
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const rpc = 'http://127.0.0.1:1';
    const args = ['--data', join(folder, 'data'), '--rpc', rpc, '--port', String(port)];
    const { code, err, findings } = await doctor(...args);
    taken.close();
    expect([code, err]).toEqual([1, expect.stringContaining('(wrong 3) [doctor-failed]')]);
    const wrong = findings.filter(({ state }) => state === 'wrong');
    expect(wrong.map(({ area }) => area)).toEqual(['data', 'sources', 'ports']);
    for (const { remedy } of wrong) expect(remedy).toBeTruthy();
    // An address may contain a key.
    expect(JSON.stringify(findings)).not.toContain(rpc);
  });

  test('behavior: a Sluice that already listens on the port is only a warning', async () => {
    const args = ['--data', join(folder, 'none'), '--port', String(fixture.port)];
    const { code, of } = await doctor(...args);
    expect([code, of('ports')[0]?.state]).toEqual([0, 'warning']);
  });

  test('error: a service that runs and is not ready is a problem', async () => {
    const reason = 'the head of mine is 900 s old';
    const service = createServer((request, response) => {
      const isReady = request.url === '/ready';
      response.statusCode = isReady ? 503 : 200;
      response.end(JSON.stringify(isReady ? { status: 'not-ready', reason } : {}));
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const { port } = service.address() as AddressInfo;
    const { code, of } = await doctor('--data', join(folder, 'none'), '--admin-port', String(port));
    service.close();
    const text = `the running service is not ready: ${reason}`;
    expect([code, of('ports')]).toMatchObject([1, [{ state: 'wrong', text }]]);
  });

  test('error: a stopped process that has locked the folder is a problem', async () => {
    await importBlocks();
    // The kernel accepts connections for a stopped process, and nothing closes them.
    const owner = createSocketServer();
    await new Promise<void>((resolve) => owner.listen(join(folder, 'data/writer.sock'), resolve));
    const { code, of } = await doctor('--data', join(folder, 'data'));
    owner.close();
    expect([code, of('data')[0]]).toMatchObject([
      1,
      { state: 'wrong', text: expect.stringContaining('is stopped or does not respond') },
    ]);
  });

  test('error: an invalid configuration is reported with its line', async () => {
    const file = join(folder, 'sluice.yaml');
    writeFileSync(file, 'dat: ./data\n');
    const { code, of } = await doctor('--config', file);
    expect([code, of('configuration')[0]]).toEqual([
      1,
      expect.objectContaining({ state: 'wrong', text: expect.stringContaining('line 1') }),
    ]);
  });
});
