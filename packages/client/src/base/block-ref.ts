import { hasMembers } from '@sluice/protocol/unknown-value';

/** A block by its slot and its hash. */
export interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

/** Returns the reference that an unknown value contains; `undefined` for any other value. */
export function parseBlockRef(value: unknown): BlockRef | undefined {
  if (!hasMembers(value)) return undefined;
  const { number, hash } = value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) return undefined;
  if (typeof hash !== 'string' || hash === '') return undefined;
  return { number, hash };
}

/** Returns references in strictly ascending slots; `undefined` for any other value. */
export function parseBlockRefs(value: unknown): BlockRef[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const refs: BlockRef[] = [];
  for (const item of value) {
    const ref = parseBlockRef(item);
    if (ref === undefined || ref.number <= (refs.at(-1)?.number ?? -1)) return undefined;
    refs.push(ref);
  }
  return refs;
}
