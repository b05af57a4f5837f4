import type { ObjectInfo } from './object-store.ts';

export interface Listing {
  readonly objects: readonly ObjectInfo[];
  readonly nextToken: string | undefined;
}

/** Parses a response of ListObjectsV2. Its XML has no attributes and no nesting that matters, so searching for tags is enough. */
export function parseListing(xml: string): Listing {
  const objects = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry = '']) => ({
    key: readTag(entry, 'Key') ?? '',
    byteLength: Number(readTag(entry, 'Size')),
    modifiedUnixMs: Date.parse(readTag(entry, 'LastModified') ?? ''),
  }));
  const isCut = readTag(xml, 'IsTruncated') === 'true';
  return { objects, nextToken: isCut ? readTag(xml, 'NextContinuationToken') : undefined };
}

export function readTag(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replace(
    /&(amp|lt|gt|quot|apos|#39|#34);/g,
    (_, entity: string) => entities[entity] ?? '',
  );
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  '#34': '"',
};
