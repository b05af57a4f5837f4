import { setImmediate } from 'node:timers/promises';
import { type Clock, systemClock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { EnginePool } from '../engine/threads/engine-pool.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { loadConfig } from './config/load-config.ts';
import { Service, type ServiceOptions } from './service.ts';

const { config } = loadConfig({ overrides: { listen: { port: 0 } } }, {});
const options: ServiceOptions = { config, keys: null, version: '0.0.0-test' };
const dependencies = { clock: systemClock, log: pino({ level: 'silent' }) };

let service: Service | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
  vi.restoreAllMocks();
});

const names = { name: 'ledger-test', aliases: ['other'], dialects: ['ledger'] as const };

async function start(dataset: MemoryDataset): Promise<Service> {
  service = await Service.start(options, dependencies);
  service.expect(names);
  service.open('ledger-test', { reader: dataset, isFed: true, ingest: () => null });
  return service;
}

test('default: a dataset that is not open yet gets 503 under every name, and one that cannot be opened keeps getting it', async () => {
  service = await Service.start(options, dependencies);
  service.expect(names);
  const { port, adminPort } = service;
  const codeOf = async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code, response.headers.has('retry-after')];
  };
  const query = (body: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const opening = [503, 'dataset-opening', true];
  expect(await codeOf('/datasets/ledger-test/head')).toEqual(opening);
  expect(await codeOf('/datasets/other/metadata')).toEqual(opening);
  expect(await codeOf('/datasets/other/stream', query('{"fromBlock":0}'))).toEqual(opening);
  // Faults of the request itself are reported first.
  expect(await codeOf('/datasets/other/stream', query('{}'))).toMatchObject([
    400,
    'query-key-missing',
    false,
  ]);
  expect(await codeOf('/datasets/nope/head')).toMatchObject([404, 'dataset-unknown', false]);
  expect(await (await fetch(`http://127.0.0.1:${port}/datasets`)).json()).toEqual([]);
  const ready = await fetch(`http://127.0.0.1:${adminPort}/ready`);
  expect([ready.status, await ready.json()]).toMatchObject([
    503,
    { reason: 'opening ledger-test' },
  ]);
  service.refuse('ledger-test');
  expect(await codeOf('/datasets/other/head')).toEqual([503, 'dataset-unavailable', true]);
});

test('default: the service is ready when every dataset has a block, and reports the reason before', async () => {
  const dataset = new MemoryDataset();
  const { adminPort } = await start(dataset);
  const ready = async () => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/ready`);
    return [response.status, await response.json()];
  };
  expect(await ready()).toEqual([503, { status: 'not-ready', reason: 'starting ledger-test' }]);
  dataset.extend([0, 1]);
  expect(await ready()).toEqual([200, { status: 'ready' }]);
});

test('behavior: the service is not ready while no file can be opened', async () => {
  const dataset = new MemoryDataset();
  dataset.extend([0, 1]);
  const { adminPort } = await start(dataset);
  const ready = async () => (await fetch(`http://127.0.0.1:${adminPort}/ready`)).json();
  dataset.alarms.raise('open-files-exhausted', 'EMFILE');
  expect(await ready()).toEqual({ status: 'not-ready', reason: 'no further file can be opened' });
  dataset.alarms.clear('open-files-exhausted');
  expect(await ready()).toEqual({ status: 'ready' });
});

test('behavior: the service is not ready while a head is old, unless a source that responds has no newer block', async () => {
  const dataset = new MemoryDataset();
  dataset.extend([0, 1]);
  const timestamp = Number(dataset.snapshot().hot.at(-1)?.header.timestamp);
  let ledgerUnixMs = (timestamp + 120) * 1000;
  let status: Pick<IngestStatus, 'behindSlots' | 'sources'> = { behindSlots: 0, sources: [] };
  service = await Service.start(options, dependencies);
  service.expect(names);
  service.open('ledger-test', {
    reader: dataset,
    isFed: true,
    ingest: () => status as IngestStatus,
    ledgerUnixMs: () => ledgerUnixMs,
  });
  const source = {
    ...{ name: 'a', fault: null, failures: 0, strikes: 0 },
    ...{ kind: 'rpc' as const, slotsBehind: 0, activity: null },
  };
  expect(service.notReadyReason()).toBe(null);
  ledgerUnixMs += 1_000;
  status = { behindSlots: 0, sources: [{ ...source, state: 'waiting' }] };
  expect(service.notReadyReason()).toBe('the head of ledger-test is 121 s old');
  dataset.alarms.raise('source-key-rejected', 'a: the key was rejected');
  expect(service.notReadyReason()).toBe(
    'the head of ledger-test is 121 s old: source-key-rejected',
  );
  status = { behindSlots: 0, sources: [{ ...source, state: 'live' }] };
  expect(service.notReadyReason()).toBe(null);
  status = { behindSlots: 1_000, sources: [{ ...source, state: 'live' }] };
  expect(service.notReadyReason()).toMatch(/^the head of ledger-test is 121 s old/);
});

test('behavior: I-92 readiness does not wait for a dataset without sources, and only briefly for failing sources', async () => {
  let nowMs = 0;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const running = await Service.start(options, { ...dependencies, clock });
  service = running;
  const readers = ['good', 'unfed', 'down'].map((name) => new MemoryDataset({ name }));
  const open = (name: string) => {
    const reader = readers.find(({ description }) => description.name === name) as MemoryDataset;
    running.expect({ name, aliases: [], dialects: ['ledger'] });
    running.open(name, { reader, isFed: name !== 'unfed', ingest: () => null });
  };
  const ready = async () => {
    const response = await fetch(`http://127.0.0.1:${running.adminPort}/ready`);
    return [response.status, await response.json()];
  };
  open('unfed');
  expect(await ready()).toMatchObject([503, { reason: 'no dataset has a block' }]);
  open('good');
  nowMs += 60_000;
  expect(await ready()).toMatchObject([503, { reason: 'starting good' }]);
  readers[0]?.extend([0, 1]);
  expect(await ready()).toEqual([200, { status: 'ready', unavailable: ['unfed'] }]);
  open('down');
  nowMs += 9_999;
  expect(await ready()).toMatchObject([503, { reason: 'starting down' }]);
  nowMs += 1;
  expect(await ready()).toEqual([200, { status: 'ready', unavailable: ['unfed', 'down'] }]);
  readers[2]?.extend([0]);
  expect(await ready()).toEqual([200, { status: 'ready', unavailable: ['unfed'] }]);
});

test('limit: datasets wait for the threads, but not longer than five seconds', async () => {
  const sleeps: [ms: number, end: () => void][] = [];
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        sleeps.push([ms, resolve]);
        signal?.addEventListener('abort', () => resolve());
      }),
  };
  let startThreads = () => {};
  const started = new Promise<void>((resolve) => {
    startThreads = resolve;
  });
  vi.spyOn(EnginePool.prototype, 'started', 'get').mockReturnValue(started);
  const running = await Service.start(options, { ...dependencies, clock });
  const ends: string[] = [];
  const waiting = running.waitForThreads().then(() => ends.push('limit'));
  await setImmediate();
  expect(ends).toEqual([]);
  expect(sleeps.map(([ms]) => ms)).toEqual([5_000]);
  sleeps[0]?.[1]();
  await waiting;
  const waitingAgain = running.waitForThreads().then(() => ends.push('threads'));
  await setImmediate();
  expect(ends).toEqual(['limit']);
  startThreads();
  await waitingAgain;
  const closed = running.close();
  for (const [, end] of sleeps) end();
  await closed;
});

test('behavior: many datasets cause no warning of a listener leak', async () => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  try {
    const running = await Service.start(options, dependencies);
    service = running;
    for (let i = 0; i < 12; i++) {
      const name = `ledger-${i}`;
      running.expect({ name, aliases: [], dialects: ['ledger'] });
      running.open(name, { reader: new MemoryDataset({ name }), isFed: true, ingest: () => null });
    }
    // Warnings are emitted in a later turn of the event loop.
    await (await fetch(`http://127.0.0.1:${running.port}/datasets`)).text();
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
  }
});

test('behavior: metrics of an idle service equal its state (I-97)', async () => {
  const dataset = new MemoryDataset();
  dataset.extend([0, 1, 2, 5]);
  dataset.finalize(1);
  const { port, adminPort } = await start(dataset);
  const body = JSON.stringify({ fromBlock: 0, toBlock: 5 });
  const headers = { 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${port}/datasets/ledger-test/stream`;
  const stream = await fetch(url, { method: 'POST', headers, body });
  const size = (await stream.arrayBuffer()).byteLength;
  expect(size).toBeGreaterThan(0);
  await (await fetch(`http://127.0.0.1:${port}/nope`)).text();
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const expected = [
    'sluice_dataset_head_slot{dataset="ledger-test"} 5',
    'sluice_dataset_finalized_slot{dataset="ledger-test"} 1',
    'sluice_dataset_blocks{dataset="ledger-test"} 4',
    'sluice_dataset_waiters{dataset="ledger-test"} 0',
    'sluice_http_streams 0',
    'sluice_http_stream_ends_total{reason="complete"} 1',
    'sluice_http_responses_total{status="404"} 1',
    'sluice_http_first_line_seconds_count 1',
    'sluice_http_request_seconds_count{route="/datasets/:name/stream"} 1',
    'sluice_http_request_seconds_count{route="none"} 1',
    'sluice_engine_wait_seconds_count{queue="history"} 0',
  ];
  for (const line of expected) expect(text.split('\n')).toContain(line);
});

test('behavior: I-92 a dataset that cannot be read does not affect others', async () => {
  const [well, ill] = ['well', 'ill'].map((name) => new MemoryDataset({ name })) as [
    MemoryDataset,
    MemoryDataset,
  ];
  for (const dataset of [well, ill]) dataset.extend([0, 1, 2, 3]);
  ill.fault = new CodedError('storage-failed');
  const running = await Service.start(options, dependencies);
  service = running;
  for (const reader of [well, ill]) {
    const { name } = reader.description;
    running.expect({ name, aliases: [], dialects: ['ledger'] });
    running.open(name, { reader, isFed: true, ingest: () => null });
  }
  const ask = async (name: string) => {
    const response = await fetch(`http://127.0.0.1:${running.port}/datasets/${name}/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ fromBlock: 0, toBlock: 3, includeAllBlocks: true }),
    });
    return [response.status, (await response.text()).split('\n').length - 1];
  };
  expect(await ask('well')).toEqual([200, 4]);
  expect((await ask('ill'))[0]).toBe(503);
  expect(await ask('well')).toEqual([200, 4]);
});

test('error: listen-failed names the address, and nothing stays open', async () => {
  const first = await start(new MemoryDataset());
  const { port } = first;
  const listen = { ...config.listen, port };
  const refusal = await Service.start(
    { ...options, config: { ...config, listen } },
    dependencies,
  ).catch((error: unknown) => error);
  expect(isCodedError(refusal, 'listen-failed')).toBe(true);
  expect(String(refusal)).toContain(String(port));
});

test('behavior: L-15 during the grace period of a shutdown the service is not ready and still serves', async () => {
  let endGrace = () => {};
  const limits = { ...config.limits, http: { ...config.limits.http, closeGraceMs: 60_000 } };
  const clock = {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) =>
      ms === 60_000
        ? new Promise<void>((resolve) => {
            endGrace = resolve;
          })
        : systemClock.sleep(ms, signal),
  };
  const graceful = await Service.start(
    { ...options, config: { ...config, limits } },
    { ...dependencies, clock },
  );
  const closed = graceful.close();
  const ready = await fetch(`http://127.0.0.1:${graceful.adminPort}/ready`);
  expect([ready.status, await ready.json()]).toMatchObject([503, { reason: 'closing' }]);
  expect((await fetch(`http://127.0.0.1:${graceful.port}/datasets`)).status).toBe(200);
  endGrace();
  await closed;
  await expect(fetch(`http://127.0.0.1:${graceful.port}/datasets`)).rejects.toThrow();
});

test('error: operator-path-unknown: an unknown path of the operator listener gets a coded error', async () => {
  const { adminPort } = await start(new MemoryDataset());
  const base = `http://127.0.0.1:${adminPort}`;
  const missing = await fetch(`${base}/nope`);
  expect([missing.status, await missing.json()]).toMatchObject([
    404,
    { error: { code: 'operator-path-unknown' } },
  ]);
  expect((await fetch(`${base}/ready`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${base}/health`)).status).toBe(200);
});
