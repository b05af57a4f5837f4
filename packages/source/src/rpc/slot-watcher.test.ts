import { systemClock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import { afterEach, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { SlotWatcher } from './slot-watcher.ts';

const stop = new AbortController();
const servers: WebSocketServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** No server listens at this address. */
const closedUrl = 'ws://127.0.0.1:1';

async function startNode(slot: number): Promise<string> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  const params = { result: { slot, parent: slot - 1, root: 0 }, subscription: 1 };
  server.on('connection', (socket) =>
    socket.on('message', () => socket.send(JSON.stringify({ method: 'slotNotification', params }))),
  );
  return `ws://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Runs a watcher on a clock with short waits, and counts how often it reported that no address works. */
function watch(urls: readonly string[]) {
  let reports = 0;
  let tries = 0;
  const clock = {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) => {
      tries++;
      return systemClock.sleep(Math.min(ms, 20), signal);
    },
  };
  const onMute = () => {
    reports++;
  };
  const watcher = new SlotWatcher({ urls, onMute }, { clock, random: Random.fromSeed(1) });
  const ending = new AbortController();
  const running = watcher.run(ending.signal);
  return {
    watcher,
    reports: () => reports,
    tries: () => tries,
    end: async () => {
      ending.abort();
      await running;
    },
  };
}

test('behavior: it is reported only once that no address works', async () => {
  const { reports, tries, end } = watch([closedUrl, closedUrl]);
  await expect.poll(tries, { timeout: 10_000 }).toBeGreaterThan(8);
  expect(reports()).toBe(1);
  await end();
});

test('behavior: the second address is used if the first does not work, and nothing is reported', async () => {
  const { watcher, reports, end } = watch([closedUrl, await startNode(77)]);
  await watcher.above(76, 10_000, stop.signal);
  await expect.poll(() => watcher.highest, { timeout: 10_000 }).toBe(77);
  expect(reports()).toBe(0);
  await end();
});
