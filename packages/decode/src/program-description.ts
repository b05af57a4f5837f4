/** The description of a program that every form of IDL is converted to, and from which its decoder is compiled. */

/**
 * The type of a value in the data of an instruction or event.
 *
 *   bytes, string   take all bytes up to the end of the data, or of the `sized` type around them
 *   sized           a value in a range of bytes: of a fixed length, or of a length that is stored before it
 *   array           a fixed count, a count that is stored before it, or as many items as there are bytes
 *   option          a flag before the item; if `isFixed`, the bytes of the item follow even if it is absent
 *   zeroable        absent if all its bytes are equal to those of `none`, or zero
 *   moved           a value whose position is changed before or after it is read
 *   hidden          constant bytes that are not a value
 */
export type IdlType =
  | {
      readonly kind: 'integer';
      readonly bytes: number;
      readonly isSigned: boolean;
      readonly isBigEndian: boolean;
    }
  | { readonly kind: 'float'; readonly bytes: 4 | 8 }
  | { readonly kind: 'shortInteger'; readonly bytesMax: number }
  | { readonly kind: 'boolean'; readonly size: IdlType }
  | { readonly kind: 'publicKey' | 'bytes' | 'unit' }
  | { readonly kind: 'string'; readonly encoding: TextEncoding }
  | { readonly kind: 'sized'; readonly size: number | IdlType; readonly item: IdlType }
  | { readonly kind: 'terminated'; readonly sentinel: Uint8Array; readonly item: IdlType }
  | { readonly kind: 'array'; readonly count: ItemCount; readonly item: IdlType }
  | {
      readonly kind: 'map';
      readonly count: ItemCount;
      readonly key: IdlType;
      readonly value: IdlType;
    }
  | {
      readonly kind: 'option';
      readonly prefix: IdlType;
      readonly item: IdlType;
      readonly isFixed: boolean;
    }
  | { readonly kind: 'remainderOption'; readonly item: IdlType }
  | { readonly kind: 'zeroable'; readonly item: IdlType; readonly none?: Uint8Array }
  | { readonly kind: 'struct'; readonly fields: readonly IdlField[] }
  | { readonly kind: 'tuple'; readonly items: readonly IdlType[] }
  | { readonly kind: 'enum'; readonly size: IdlType; readonly variants: readonly IdlVariant[] }
  | {
      readonly kind: 'moved';
      readonly before?: Move;
      readonly after?: Move;
      readonly item: IdlType;
    }
  | {
      readonly kind: 'hidden';
      readonly before: number;
      readonly after: number;
      readonly item: IdlType;
    }
  | { readonly kind: 'defined'; readonly name: string };

export type TextEncoding = 'utf8' | 'base16' | 'base58' | 'base64';
export type ItemCount = number | 'remainder' | { readonly prefix: IdlType };

export interface Move {
  readonly from: 'here' | 'start' | 'value';
  readonly by: number;
}

export interface IdlField {
  readonly name: string;
  readonly type: IdlType;
  /** Whether the value is part of the discriminator and therefore not written. */
  readonly isHidden?: boolean;
}

export interface IdlVariant {
  readonly name: string;
  /** The number on the wire. */
  readonly number: number;
  /** A struct or a tuple; absent for a variant without values. */
  readonly type?: IdlType;
}

/** Data that is decoded as a whole if it has given bytes at given offsets, and the given length if there is one. */
export interface IdlLayout {
  readonly name: string;
  readonly discriminators: readonly { readonly offset: number; readonly bytes: Uint8Array }[];
  readonly byteLength?: number;
  /** The number of bytes before the first field. */
  readonly fieldsAt: number;
  readonly fields: readonly IdlField[];
}

export interface IdlAccount {
  readonly name: string;
  /**
   * How an absent account is recognized: `program` means that the address of the program is passed instead, `omitted` that it is passed
   * only if there are more accounts than required ones.
   */
  readonly absent?: 'program' | 'omitted';
  /** The account is passed or left out; it is recognized by this address. */
  readonly address?: string;
}

export interface IdlInstruction extends IdlLayout {
  readonly accounts: readonly IdlAccount[];
}

export interface ProgramDescription {
  /** Base58; absent if the IDL does not contain the address. */
  readonly address: string | undefined;
  readonly name: string;
  readonly instructions: readonly IdlInstruction[];
  readonly events: readonly IdlLayout[];
  readonly types: ReadonlyMap<string, IdlType>;
}

export const integer = (bytes: number, isSigned = false, isBigEndian = false): IdlType => ({
  kind: 'integer',
  bytes,
  isSigned,
  isBigEndian,
});
export const u8 = integer(1);
export const u32 = integer(4);
export const boolean: IdlType = { kind: 'boolean', size: u8 };
export const publicKey: IdlType = { kind: 'publicKey' };
export const bytes: IdlType = { kind: 'bytes' };
export const text: IdlType = { kind: 'string', encoding: 'utf8' };
export const sized = (size: number | IdlType, item: IdlType): IdlType => ({
  kind: 'sized',
  size,
  item,
});
