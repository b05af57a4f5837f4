/** Finds the layout of data by its length and its constant bytes. */
import type { DataRange } from './data-range.ts';
import type { IdlLayout } from './program-description.ts';

interface WithLayout {
  readonly layout: IdlLayout;
}

/** Returns for each first byte the layouts that may match. Those with more constant bytes come first, because they are more specific. */
export function byFirstByte<Compiled extends WithLayout>(
  all: readonly Compiled[],
): readonly (readonly Compiled[])[] {
  const sorted = all
    .map((compiled) => ({ compiled, weight: weightOf(compiled.layout) }))
    .sort((a, b) => b.weight - a.weight)
    .map(({ compiled }) => compiled);
  // The last list is for data without bytes.
  return Array.from({ length: 257 }, (_, byte) =>
    sorted.filter(({ layout }) => {
      const first = layout.discriminators.find(
        ({ offset, bytes }) => offset === 0 && bytes.length > 0,
      );
      return first === undefined || first.bytes[0] === byte;
    }),
  );
}

function weightOf({ discriminators, byteLength }: IdlLayout): number {
  const byteCount = discriminators.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return byteCount * 2 + (byteLength === undefined ? 0 : 1);
}

export function findLayout<Compiled extends WithLayout>(
  table: readonly (readonly Compiled[])[],
  { memory, at, end }: DataRange,
): Compiled | undefined {
  const candidates = table[at < end ? memory.readUInt8(at) : 256] ?? [];
  for (const compiled of candidates) {
    const { discriminators, byteLength } = compiled.layout;
    if (byteLength !== undefined && byteLength !== end - at) continue;
    if (discriminators.every(({ offset, bytes }) => hasBytes(memory, at + offset, end, bytes)))
      return compiled;
  }
  return undefined;
}

function hasBytes(memory: Buffer, at: number, end: number, bytes: Uint8Array): boolean {
  if (end - at < bytes.length) return false;
  for (let i = 0; i < bytes.length; i++) if (memory[at + i] !== bytes[i]) return false;
  return true;
}
