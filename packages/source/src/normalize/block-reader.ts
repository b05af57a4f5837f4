/**
 * Reads the values of one parsed block. Invalid values throw an error with slot, transaction and field. The name of the field is only
 * composed for an error.
 */
import type { BlockLocation } from '@sluice/base/error-details';
import { CodedError } from '@sluice/base/errors';
import {
  type Address,
  areAddresses,
  areSignatures,
  type BlockHash,
  isAddress,
  isSignature,
  parseBlockHash,
  parseSlot,
  type Signature,
  type Slot,
} from '@sluice/ledger/primitives';
import { isCount, markedDigits, readI64, readU64 } from '../json/read-integer.ts';

/** A JSON object that has not been validated. */
export type Raw<Keys extends string> = { readonly [Key in Keys]?: unknown };

export class BlockReader {
  readonly slot: Slot;
  /** The prefix of the texts of long integers. */
  readonly mark: string;
  /** The index of the current transaction; -1 outside of transactions. */
  transaction = -1;

  constructor(slot: Slot, mark: string) {
    this.slot = slot;
    this.mark = mark;
  }

  refuse(field: string, found: unknown, expected: string, index = -1): never {
    throw new CodedError('block-field-invalid', {
      ...this.detail(field, index),
      found: this.#describe(found),
      expected,
    });
  }

  missing(field: string, expected: string, index = -1): never {
    throw new CodedError('block-field-missing', { ...this.detail(field, index), expected });
  }

  /** Returns a value in a form that is short enough for a message. */
  #describe(value: unknown): string {
    if (value === undefined) return 'nothing';
    if (Array.isArray(value)) return `a list of ${value.length}`;
    if (typeof value === 'object' && value !== null) return 'an object';
    if (typeof value !== 'string') return String(value);
    const digits = markedDigits(value, this.mark);
    const text = digits ?? value;
    const cut = text.slice(0, foundLengthMax);
    const shown = digits === undefined ? JSON.stringify(cut) : cut;
    return cut === text ? shown : `${shown}… (${text.length} characters)`;
  }

  detail(field: string, index = -1): BlockLocation {
    const name = index < 0 ? field : `${field}[${index}]`;
    if (this.transaction < 0) return { slot: this.slot, field: name };
    return { slot: this.slot, transaction: this.transaction, field: name };
  }

  object<Keys extends string>(value: unknown, field: string, index = -1): Raw<Keys> {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    if (value === undefined) this.missing(field, 'an object', index);
    return this.refuse(field, value, 'an object', index);
  }

  array(value: unknown, field: string, index = -1): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value === undefined || value === null) this.missing(field, 'a list', index);
    return this.refuse(field, value, 'a list', index);
  }

  /** Like `array`, but null and absent mean an empty list. */
  optionalArray(value: unknown, field: string): readonly unknown[] {
    if (value === undefined || value === null) return emptyArray;
    return this.array(value, field);
  }

  address(value: unknown, field: string, index = -1): Address {
    return isAddress(value) ? value : this.refuse(field, value, addressExpected, index);
  }

  /** Checks a whole list in place, without copying it. */
  addresses(value: unknown, field: string): readonly Address[] {
    const list = this.array(value, field);
    if (areAddresses(list)) return list;
    const index = list.findIndex((text) => !isAddress(text));
    return this.refuse(field, list[index], addressExpected, index);
  }

  signatures(value: unknown, field: string): readonly Signature[] {
    const list = this.array(value, field);
    if (areSignatures(list)) return list;
    const index = list.findIndex((text) => !isSignature(text));
    return this.refuse(field, list[index], 'base58 of 64 bytes', index);
  }

  hash(value: unknown, field: string): BlockHash {
    return parseBlockHash(value) ?? this.refuse(field, value, addressExpected);
  }

  slotOf(value: unknown, field: string): Slot {
    const expected = `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`;
    return parseSlot(value) ?? this.refuse(field, value, expected);
  }

  u64(value: unknown, field: string, index = -1): bigint {
    return (
      readU64(value, this.mark) ?? this.refuse(field, value, 'an integer of 0 to 2^64-1', index)
    );
  }

  i64(value: unknown, field: string, index = -1): bigint {
    return readI64(value, this.mark) ?? this.refuse(field, value, 'an integer of 64 bits', index);
  }

  /** Reads an integer from 0 to `max`. */
  count(value: unknown, max: number, field: string): number {
    if (typeof value === 'number' && isCount(value) && value <= max) return value;
    return this.refuse(field, value, `an integer from 0 to ${max}`);
  }

  u8s(value: unknown, field: string): readonly number[] {
    const list = this.array(value, field);
    for (let i = 0; i < list.length; i++) {
      const byte = list[i];
      if (typeof byte !== 'number' || !isCount(byte) || byte > 255) {
        this.refuse(field, byte, 'an integer from 0 to 255', i);
      }
    }
    return list as readonly number[];
  }

  /** Reads a text of the source. The text of a long integer is rejected. */
  text(value: unknown, field: string, index = -1): string {
    if (typeof value === 'string' && markedDigits(value, this.mark) === undefined) return value;
    return this.refuse(field, value, 'a text', index);
  }
}

const foundLengthMax = 48;
const addressExpected = 'base58 of 32 bytes';
const emptyArray: readonly unknown[] = [];
