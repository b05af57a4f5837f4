import { isSluiceError } from '../base/sluice-error.ts';

/** Reads an iterable to its end. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Resolves with the code of the error that rejects the promise. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return isSluiceError(error) ? error.code : String(error);
  }
  return 'no error';
}
