import { afterEach, describe, expect, test } from 'vitest';
import type { SimulatedNode } from '../start-node.ts';
import { call, startTestNode } from '../testing/start-test-node.ts';

let node: SimulatedNode;

async function start(options: Parameters<typeof startTestNode>[0] = {}): Promise<void> {
  node = await startTestNode({
    ...options,
    chain: { seed: 3, startSlot: 2_000, ...options.chain },
  });
}
afterEach(() => node.close());

describe('the control port', () => {
  const control = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(node.controlUrl + path, {
      method,
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  test('default: a fault is set, listed, counted and cleared', async () => {
    await start();
    const set = await control('POST', '/faults', { kind: 'null-result', methods: ['getSlot'] });
    expect(set).toEqual({
      status: 201,
      body: { id: 1, kind: 'null-result', methods: ['getSlot'], hits: 0 },
    });
    expect((await call(node, 'getSlot')).result).toBeNull();
    await control('POST', '/faults', { kind: 'bom', times: 3 });
    expect((await control('GET', '/faults')).body).toEqual([
      { id: 1, kind: 'null-result', methods: ['getSlot'], hits: 1 },
      { id: 2, kind: 'bom', times: 3, hits: 0 },
    ]);
    expect((await control('DELETE', '/faults?kind=bom')).body).toEqual({ cleared: 1 });
    expect((await control('DELETE', '/faults/1')).body).toEqual({ cleared: 1 });
    expect((await control('DELETE', '/faults')).body).toEqual({ cleared: 0 });
    expect((await call(node, 'getSlot')).result).toEqual(expect.any(Number));
  });

  test.each<[unknown, string, string]>([
    ['{', 'body', 'JSON'],
    [[], 'request', 'an object such as'],
    [{}, 'kind', 'one of stall, delay'],
    [{ kind: 'lagg' }, 'kind', 'lag'],
    [{ kind: 'constructor' }, 'kind', 'one of stall'],
    [{ kind: 'lag', bySlots: 'ten' }, 'bySlots', 'an integer from 1 to'],
    [{ kind: 'lag', slots: 3 }, 'slots', 'only kind, bySlots'],
    [{ kind: 'lag', times: 3 }, 'times', 'only kind, bySlots'],
    [{ kind: 'delay' }, 'ms', 'an integer from 1'],
    [{ kind: 'skip-block', as: 'gone' }, 'as', 'one of omitted, skipped, unavailable'],
    [{ kind: 'stall', probability: 2 }, 'probability', 'from 0 to 1'],
    [{ kind: 'stall', methods: 'getSlot' }, 'methods', 'a list of 1 to 50'],
    [{ kind: 'stall', methods: ['getSlot', 'getBlok'] }, 'methods[1]', 'getBlock, getBlocks'],
    [{ kind: 'stall', methods: [5] }, 'methods[0]', 'getHealth'],
    [{ kind: 'ws-close', methods: ['slot'] }, 'methods[0]', 'getHealth, slotSubscribe'],
    [{ kind: 'stall', fromSlot: 9, toSlot: 8 }, 'toSlot', 'fromSlot, 9, or above'],
    [{ kind: 'stall', times: 0 }, 'times', 'an integer from 1'],
    [{ kind: 'wrong-parent-hash', hash: 5 }, 'hash', 'a text of at most 100'],
  ])('error: simulator-fault-invalid for %j', async (body, path, expected) => {
    await start();
    const answer = await control('POST', '/faults', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      error: { code: 'simulator-fault-invalid', path, expected: expect.stringContaining(expected) },
    });
    expect(node.faults.list()).toEqual([]);
  });

  test('error: simulator-fault-invalid suggests the nearest kind or method', async () => {
    await start();
    const set = await control('POST', '/faults', { kind: 'lagg' });
    expect(set.body).toMatchObject({ error: { nearest: 'lag' } });
    const limited = { kind: 'stall', methods: ['getblok'] };
    const method = await control('POST', '/faults', limited);
    expect(method.body).toMatchObject({ error: { nearest: 'getBlock' } });
    const cleared = await control('DELETE', '/faults?kind=stal');
    expect([cleared.status, cleared.body]).toEqual([
      400,
      { error: expect.objectContaining({ nearest: 'stall' }) },
    ]);
  });

  test('error: simulator-fault-unknown, 404, for an unknown id', async () => {
    await start();
    await control('POST', '/faults', { kind: 'bom', fromSlot: 8, toSlot: 8 });
    const answer = await control('DELETE', '/faults/99');
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ error: { code: 'simulator-fault-unknown', id: '99' } });
    expect((await control('DELETE', '/faults/1')).body).toEqual({ cleared: 1 });
  });

  test('behavior: time is paused, advanced and resumed', async () => {
    await start({ paused: false, chain: { slotMs: 400, startSlot: 2_000 } });
    const paused = await control('POST', '/time', { pause: true });
    const before = paused.body['processedSlot'] as number;
    expect(before).toBeGreaterThanOrEqual(2_000);
    expect(paused.body).toMatchObject({ paused: true, slotMs: 400 });
    const moved = await control('POST', '/time', { advanceSlots: 50 });
    expect(moved.body).toMatchObject({ paused: true, processedSlot: before + 50 });
    await control('POST', '/time', { advanceMs: 800 });
    expect((await control('GET', '/time')).body).toMatchObject({ processedSlot: before + 52 });
    expect((await control('POST', '/time', { pause: false })).body).toMatchObject({
      paused: false,
    });
  });

  test.each([{}, { pause: 1 }, { advanceSlots: -1 }, { advanceMs: 1e18 }, { jump: 1 }, 5])(
    'error: simulator-time-invalid for %j',
    async (body) => {
      await start();
      const answer = await control('POST', '/time', body);
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ error: { code: 'simulator-time-invalid' } });
    },
  );

  test('error: another path returns the list of paths', async () => {
    await start();
    const answer = await control('GET', '/fault');
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ error: { 'GET /faults': expect.any(String) } });
  });
});
