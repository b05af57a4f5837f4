import { type ContentInput, parseContentOptions } from '@sluice/simulator/content/content-options';
import { BlockGenerator } from '@sluice/simulator/content/generate-block';

/** The number of blocks of a long run (`npm run test:laws`); 0 for the usual one. */
export const longCount = Number(process.env['LAW_BLOCKS'] ?? 0);
export const isLong = longCount > 0;
/** An epoch starts shortly before the end of the first window, so that vote accounts are paid in its last slots. */
export const SMALL: ContentInput = { transactionsPerBlock: 4, votes: 1, slotsPerEpoch: 1020 };

export function generatorOf(seed: number, content: ContentInput): BlockGenerator {
  return new BlockGenerator(parseContentOptions({ seed, ...content }));
}
