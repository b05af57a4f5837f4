import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { Selection } from './query.ts';

/** Returns the number of filter values in all lists. Each value takes about 70 bytes of memory. */
export function countValues(selection: Selection): number {
  let count = 0;
  for (const array of RECORD_ARRAY_NAMES) {
    for (const { filters } of selection[array]) {
      for (const filter of Object.values(filters))
        if (Array.isArray(filter)) count += filter.length;
    }
  }
  return count;
}
