import * as zlib from 'node:zlib';

export type Encoding = 'identity' | 'gzip' | 'zstd';

/**
 * What this runtime can compress with, the preferred one first. gzip goes before zstd: the engine's threads compress it, once
 * for all readers of the same lines, while zstd needs an open compressor for each reader.
 */
export const ENCODINGS: readonly Encoding[] =
  'createZstdCompress' in zlib ? ['gzip', 'zstd', 'identity'] : ['gzip', 'identity'];

/**
 * The encoding with the highest q-value among ours; of equal ones the preferred. A client that accepts nothing of it gets the
 * lines as they are.
 */
export function negotiateEncoding(
  header: string | undefined,
  encodings: readonly Encoding[] = ENCODINGS,
): Encoding {
  if (header === undefined) return 'identity';
  const weights = parseEncodingWeights(header);
  let best: Encoding = 'identity';
  let bestWeight = 0;
  for (const encoding of encodings) {
    const weight = weights.get(encoding) ?? defaultWeight(encoding, weights);
    if (weight <= bestWeight) continue;
    best = encoding;
    bestWeight = weight;
  }
  return best;
}

/** What is not named is refused, but for identity, which only an explicit zero refuses. */
function defaultWeight(encoding: Encoding, weights: ReadonlyMap<string, number>): number {
  const any = weights.get('*');
  if (any !== undefined) return any;
  return encoding === 'identity' ? Number.MIN_VALUE : 0;
}

/** Returns the q-value of each encoding that a header names. */
export function parseEncodingWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const q = parameters.find((text) => text.startsWith('q='));
    if (name !== '') weights.set(name === 'x-gzip' ? 'gzip' : name, parseWeight(q));
  }
  return weights;
}

function parseWeight(parameter: string | undefined): number {
  if (parameter === undefined) return 1;
  const text = parameter.slice(2).trim();
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
