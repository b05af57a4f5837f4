/** The plain worker: sends the records themselves back. */
import { serveNormalizer } from './serve-normalizer.ts';

serveNormalizer((normalized) => ({ value: normalized }));
