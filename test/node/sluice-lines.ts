import { RECORD_ARRAY_NAMES, selectEveryField } from '@sluice/protocol/field-table';
import { expect } from 'vitest';
import type { ServiceProcess } from '../service/service-process.ts';
import { type Exact, parseExact } from './parse-exact.ts';

/** All fields except the finalized head, which depends on the time of the response. */
const fields = selectEveryField('ledger', (_, name) => name !== 'finalizedHead');

export interface SluiceLine {
  readonly header: { readonly number: bigint; readonly parentSlot: bigint; readonly hash: string };
  readonly [kind: string]: Exact;
}

/** Returns all records with all fields of the finalized blocks of a range. */
export async function readSluiceLines(
  service: ServiceProcess,
  range: { readonly fromBlock: number; readonly toBlock: number },
): Promise<SluiceLine[]> {
  const response = await service.query('/datasets/mine/finalized-stream', {
    ...range,
    includeAllBlocks: true,
    fields,
    ...Object.fromEntries(RECORD_ARRAY_NAMES.map((kind) => [kind, [{}]])),
  });
  expect(response.status).toBe(200);
  const lines = (await response.text()).split('\n').slice(0, -1);
  return lines.map((line) => parseExact(line) as unknown as SluiceLine);
}
