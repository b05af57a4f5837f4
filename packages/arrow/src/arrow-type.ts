/**
 * The types of Arrow columns that Sluice writes, and the memory of a column as the format lays it out.
 * https://arrow.apache.org/docs/format/Columnar.html
 */

export type ArrowType =
  | { readonly kind: 'int'; readonly bits: 32 | 64; readonly isSigned: boolean }
  | { readonly kind: 'bool' | 'utf8' | 'binary' }
  | { readonly kind: 'fixedBinary'; readonly byteCount: number }
  /** Seconds since 1970, UTC. */
  | { readonly kind: 'timestamp' }
  /** Texts that occur repeatedly, as 32-bit indexes of the one dictionary of the stream. */
  | { readonly kind: 'dictionary' }
  | { readonly kind: 'list'; readonly item: ArrowField }
  | { readonly kind: 'struct'; readonly fields: readonly ArrowField[] };

export interface ArrowField {
  readonly name: string;
  readonly type: ArrowType;
  readonly isNullable: boolean;
}

/**
 * The memory of one column: the validity bits (empty if no value is null), then what its type needs.
 *
 *   int, timestamp, dictionary, fixedBinary   validity · values
 *   bool                                      validity · bits
 *   utf8, binary                              validity · starts · bytes
 *   list                                      validity · starts; one child
 *   struct                                    validity; one child per field
 */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  readonly buffers: readonly Uint8Array[];
  readonly children: readonly ColumnData[];
}

/** The metadata of a message, as pairs of a key and its value. */
export type ArrowMetadata = readonly (readonly [key: string, value: string])[];

export const childFields = (type: ArrowType): readonly ArrowField[] => {
  if (type.kind === 'list') return [type.item];
  return type.kind === 'struct' ? type.fields : [];
};

/** Returns whether a column of this type, or one inside it, refers to the dictionary. */
export function usesDictionary({ type }: ArrowField): boolean {
  return type.kind === 'dictionary' || childFields(type).some(usesDictionary);
}

const noBytes = new Uint8Array(0);
const oneStart = new Uint8Array(4);

/** Returns a column without values. */
export function emptyColumn(type: ArrowType): ColumnData {
  const hasStarts = type.kind === 'list' || type.kind === 'utf8' || type.kind === 'binary';
  const values = type.kind === 'list' || type.kind === 'struct' ? [] : [noBytes];
  const buffers = [noBytes, ...(hasStarts ? [oneStart] : []), ...values];
  const children = childFields(type).map((child) => emptyColumn(child.type));
  return { length: 0, nullCount: 0, buffers, children };
}

/** Returns a column of lists of 32-bit integers. `ends` has the end of each list in the values, after a 0. */
export function intLists(values: readonly number[], ends: readonly number[]): ColumnData {
  const bytesOf = (list: readonly number[]) => new Uint8Array(Uint32Array.from(list).buffer);
  const child = {
    length: values.length,
    nullCount: 0,
    buffers: [noBytes, bytesOf(values)],
    children: [],
  };
  return {
    length: ends.length - 1,
    nullCount: 0,
    buffers: [noBytes, bytesOf(ends)],
    children: [child],
  };
}
