/** The default worker of a pool, which returns the records. */
import { serveNormalizer } from './serve-normalizer.ts';

serveNormalizer((normalized) => ({ value: normalized }));
