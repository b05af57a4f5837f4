/**
 * Reads the values of one parsed block and refuses, by slot, transaction and field, what cannot be mapped. The field's
 * name is put together only when something is refused.
 */
import { isBase58Of32 } from '../base/base58.ts';
import { CodedError } from '../base/errors.ts';
import type { Address, Slot } from '../ledger/primitives.ts';
import { isCount, markedDigits, readI64, readU64 } from './read-integer.ts';

/** A JSON object of which nothing is known yet. */
export type Raw<Keys extends string> = { readonly [Key in Keys]?: unknown };

export class BlockReader {
  readonly slot: Slot;
  /** What the texts of long integers begin with. */
  readonly mark: string;
  /** The transaction being read; -1 outside of them. */
  transaction = -1;

  constructor(slot: Slot, mark: string) {
    this.slot = slot;
    this.mark = mark;
  }

  refuse(field: string, index = -1): never {
    throw new CodedError('block-field-invalid', this.detail(field, index));
  }

  detail(field: string, index = -1): Record<string, number | string> {
    const name = index < 0 ? field : `${field}[${index}]`;
    if (this.transaction < 0) return { slot: this.slot, field: name };
    return { slot: this.slot, transaction: this.transaction, field: name };
  }

  object<Keys extends string>(value: unknown, field: string, index = -1): Raw<Keys> {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    if (value === undefined) {
      throw new CodedError('block-field-missing', this.detail(field, index));
    }
    return this.refuse(field, index);
  }

  array(value: unknown, field: string, index = -1): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value === undefined || value === null) {
      throw new CodedError('block-field-missing', this.detail(field, index));
    }
    return this.refuse(field, index);
  }

  /** As `array`, but null and absent are the empty list. */
  optionalArray(value: unknown, field: string): readonly unknown[] {
    if (value === undefined || value === null) return emptyArray;
    return this.array(value, field);
  }

  address(value: unknown, field: string, index = -1): Address {
    if (typeof value === 'string' && isBase58Of32(value)) return value as Address;
    return this.refuse(field, index);
  }

  /** Checks a whole list in place: the texts are shared, not copied. */
  addresses(value: unknown, field: string): readonly Address[] {
    const list = this.array(value, field);
    for (let i = 0; i < list.length; i++) {
      const text = list[i];
      if (typeof text !== 'string' || !isBase58Of32(text)) this.refuse(field, i);
    }
    return list as readonly Address[];
  }

  u64(value: unknown, field: string, index = -1): bigint {
    return readU64(value, this.mark) ?? this.refuse(field, index);
  }

  i64(value: unknown, field: string, index = -1): bigint {
    return readI64(value, this.mark) ?? this.refuse(field, index);
  }

  /** A whole number from 0 to `max`. */
  count(value: unknown, max: number, field: string): number {
    if (typeof value === 'number' && isCount(value) && value <= max) return value;
    return this.refuse(field);
  }

  u8s(value: unknown, field: string): readonly number[] {
    const list = this.array(value, field);
    for (let i = 0; i < list.length; i++) {
      const byte = list[i];
      if (typeof byte !== 'number' || !isCount(byte) || byte > 255) this.refuse(field, i);
    }
    return list as readonly number[];
  }

  /** A text of the source, which a long integer is not. */
  text(value: unknown, field: string, index = -1): string {
    if (typeof value === 'string' && markedDigits(value, this.mark) === undefined) return value;
    return this.refuse(field, index);
  }
}

const emptyArray: readonly unknown[] = [];
