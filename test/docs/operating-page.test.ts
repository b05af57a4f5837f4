import { readFileSync } from 'node:fs';
import { ERRORS } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { ALARM_CODES, GROWTH_ALARMS } from '../../packages/server/src/dataset/alarm-codes.ts';
import { STREAM_LIMITS } from '../../packages/server/src/stream/stream-limits.ts';

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

test('behavior: the page describes exactly the existing alarms', () => {
  const section = page.split(/^## /m).find((text) => text.startsWith('Alarms\n')) ?? '';
  const codes = [...section.matchAll(/^\| (`[^|]*) \| [^|]+ \| [^|]+ \|$/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([a-z0-9-]+)`/g)].map(([, code]) => code),
  );
  expect(codes.toSorted()).toEqual([...ALARM_CODES].toSorted());
});

test('behavior: S-06 the proxy examples disable buffering and have a read timeout above the longest response', () => {
  const section = page.split(/^## /m).find((text) => text.startsWith('Behind a proxy\n')) ?? '';
  expect(section).toContain('proxy_buffering off;');
  const seconds = Number(/proxy_read_timeout (\d+)s;/.exec(section)?.[1]);
  expect(seconds * 1_000).toBeGreaterThan(STREAM_LIMITS.followMsMax);
  expect(section).toContain('flush_interval -1');
});

test('behavior: every error about a block of a source is an alarm', () => {
  const notOfSources = /^block-(file|line|slots|pool|worker)-/;
  const faults = Object.keys(ERRORS).filter(
    (code) => code.startsWith('block-') && !notOfSources.test(code),
  );
  expect(faults.length).toBeGreaterThan(5);
  for (const code of faults) expect(GROWTH_ALARMS).toContain(code);
});
