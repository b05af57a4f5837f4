import { expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { MergeThread } from './merge-thread.ts';

test('behavior: a merge that is queued when the thread is closed fails and starts no new thread', async () => {
  const thread = new MergeThread(systemClock);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* heldSequence(): AsyncGenerator<Uint8Array> {
    await held;
    yield new Uint8Array();
  }
  let isRead = false;
  function* laterSequence(): Generator<Uint8Array> {
    isRead = true;
    yield new Uint8Array();
  }
  const first = thread.merge(heldSequence());
  const later = thread.merge(laterSequence());
  first.catch(() => undefined);
  later.catch(() => undefined);
  await thread.close();
  release();
  await expect(first).rejects.toMatchObject({ code: 'dataset-closed' });
  await expect(later).rejects.toMatchObject({ code: 'dataset-closed' });
  expect(isRead).toBe(false);
});
