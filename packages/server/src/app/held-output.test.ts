import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createLog, HeldOutput } from './serve.ts';

test('behavior: log lines before the release appear after the text that was written meanwhile', async () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const held = new HeldOutput(terminal);
  const log = await createLog('info', held);
  log.info('listening');
  await new Promise(setImmediate);
  terminal.write('the start text\n');
  held.release();
  log.info('following');
  await new Promise(setImmediate);
  const text = String(terminal.read());
  const places = ['the start text', 'listening', 'following'].map((part) => text.indexOf(part));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(Math.min(...places)).toBe(0);
});

test('limit: the log of a start is released after a thousand lines', () => {
  const terminal = new PassThrough({ highWaterMark: 1e9 });
  const held = new HeldOutput(terminal);
  for (let i = 0; i < 1_000; i++) held.write('x');
  expect(terminal.read()).toBeNull();
  held.write('x');
  expect(String(terminal.read())).toHaveLength(1_001);
});
