import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAULT_KINDS, type FaultSpec } from './fault-kinds.ts';

const documentation = readFileSync(
  new URL('../../../../docs/simulator.md', import.meta.url),
  'utf8',
);

test('behavior: exactly the existing faults and parameters are documented', () => {
  const rows = new Map<string, string>();
  const faults = documentation.slice(documentation.indexOf('## Faults'));
  for (const [, kind, parameters] of faults.matchAll(/^\| `([\w-]+)` \| (.*?)\|/gm)) {
    rows.set(kind as string, parameters as string);
  }
  expect([...rows.keys()].sort()).toEqual(Object.keys(FAULT_KINDS).sort());
  for (const [kind, spec] of Object.entries<FaultSpec>(FAULT_KINDS)) {
    const named = [...(rows.get(kind) as string).matchAll(/`(\w+)`(?! ?\))/g)].map((at) => at[1]);
    const parameters = Object.keys(spec.parameters);
    expect(named.filter((name) => parameters.includes(name as string))).toEqual(parameters);
  }
});
