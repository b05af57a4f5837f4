import { expect, test } from 'vitest';
import { socketAddresses } from './socket-addresses.ts';

test('default: the same address is tried first, then one port higher', () => {
  expect(socketAddresses('http://127.0.0.1:8899')).toEqual([
    'ws://127.0.0.1:8899/',
    'ws://127.0.0.1:8900/',
  ]);
});

test('behavior: a service without a port keeps its path, its key and its encryption', () => {
  expect(socketAddresses('https://node.example/v2/key?x=1')).toEqual([
    'wss://node.example/v2/key?x=1',
  ]);
});

test('error: source-address-invalid: an address that is not HTTP is refused and not repeated', () => {
  expect(() => socketAddresses('ftp://secret@host')).toThrow(
    expect.objectContaining({
      code: 'source-address-invalid',
      message: expect.not.stringContaining('secret'),
    }),
  );
});
