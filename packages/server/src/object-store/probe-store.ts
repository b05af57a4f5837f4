/** Tests whether an object store has the features that a dataset needs, above all that it refuses to overwrite a manifest. */
import { CodedError } from '@sluice/base/errors';
import type { ObjectStore } from './object-store.ts';

/** Throws the first problem that it finds. Writes and removes one small object. */
export async function probeStore(store: ObjectStore, name: string): Promise<void> {
  const key = `probe/${name}`;
  const bytes = new TextEncoder().encode(`probe ${name}`);
  try {
    if (!(await store.create(key, bytes)))
      throw new CodedError('store-refused', { operation: 'create' });
    const other = new TextEncoder().encode(`other ${name}`);
    if (await store.create(key, other)) throw new CodedError('store-unconditional');
    const middle = await store.get(key, { start: 2, end: 5 });
    const listed = await store.list('probe/');
    const isRight = Buffer.compare(middle, bytes.subarray(2, 5)) === 0;
    if (!isRight || !listed.some((object) => object.key === key)) {
      throw new CodedError('store-refused', { operation: isRight ? 'list' : 'get' });
    }
  } finally {
    await store.remove(key).catch(() => undefined);
  }
}
