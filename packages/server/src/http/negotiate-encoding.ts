import * as zlib from 'node:zlib';

export type Encoding = 'identity' | 'gzip' | 'zstd';

/**
 * The encodings that this runtime supports, the preferred one first. gzip comes before zstd, because the engine's threads
 * compress it once for all clients of the same lines, while zstd needs a compressor per client.
 */
export const ENCODINGS: readonly Encoding[] =
  'createZstdCompress' in zlib ? ['gzip', 'zstd', 'identity'] : ['gzip', 'identity'];

/**
 * Returns the supported encoding with the highest q-value, and the preferred one of equal ones. A client that accepts none
 * gets `identity`.
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

/** An encoding that the header does not name is not accepted, except `identity`, which only a q-value of 0 excludes. */
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
