/** Reads instructions and events by the IDLs in docs/idl, as an indexer does. */
import { readdirSync, readFileSync } from 'node:fs';
import { encodeBase58 } from '@sluice/base/base58';

type Type = string | { readonly vec: Type } | { readonly defined: { readonly name: string } };
interface Field {
  readonly name: string;
  readonly type: Type;
}
interface IdlFile {
  readonly address: string;
  readonly instructions: readonly {
    readonly name: string;
    readonly discriminator: readonly number[];
    readonly accounts: readonly { readonly name: string }[];
    readonly args: readonly Field[];
  }[];
  readonly events: readonly { readonly name: string; readonly discriminator: readonly number[] }[];
  readonly types: readonly {
    readonly name: string;
    readonly type: { readonly fields: readonly Field[] };
  }[];
}

/** Integers are bigints, keys are base58 texts. */
export type Value = bigint | boolean | string | readonly Value[] | Values;
export interface Values {
  readonly [name: string]: Value;
}
export interface Decoded {
  readonly name: string;
  readonly values: Values;
}

const folder = new URL('../../docs/idl/', import.meta.url);
/** The first bytes of the data of an event that a program records by calling itself. */
const EVENT_CALL = Buffer.from('e445a52e51cb9a1d', 'hex');
const TAG_BYTES = 8;

export function isEventCall(data: Buffer): boolean {
  return data.subarray(0, TAG_BYTES).equals(EVENT_CALL);
}

export class Idl {
  readonly #file: IdlFile;

  constructor(file: IdlFile) {
    this.#file = file;
  }

  get address(): string {
    return this.#file.address;
  }

  get instructionNames(): string[] {
    return this.#file.instructions.map(({ name }) => name);
  }

  get eventNames(): string[] {
    return this.#file.events.map(({ name }) => name);
  }

  /** Returns undefined if the IDL does not describe the data. */
  readInstruction(
    data: Buffer,
    accounts: readonly string[],
  ): (Decoded & { readonly accounts: ReadonlyMap<string, string> }) | undefined {
    const found = findByTag(this.#file.instructions, data);
    if (found === undefined || accounts.length < found.accounts.length) return undefined;
    const values = this.#readAll(found.args, data);
    const named = found.accounts.map(({ name }, i) => [name, accounts[i] as string] as const);
    return values && { name: found.name, values, accounts: new Map(named) };
  }

  /** Reads the data of an event: of a log line, or of a call without its first eight bytes. */
  readEvent(data: Buffer): Decoded | undefined {
    const found = findByTag(this.#file.events, data);
    const values = found && this.#readAll(this.#fieldsOf(found.name), data);
    return found && values && { name: found.name, values };
  }

  /** Reads the event that the program recorded by a call to itself. */
  readEventCall(data: Buffer): Decoded | undefined {
    return this.readEvent(data.subarray(TAG_BYTES));
  }

  /** Returns undefined if the values do not fill the data. */
  #readAll(fields: readonly Field[], data: Buffer): Values | undefined {
    const cursor = { at: TAG_BYTES };
    try {
      const values = this.#readFields(fields, data, cursor);
      return cursor.at === data.length ? values : undefined;
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #readFields(fields: readonly Field[], data: Buffer, cursor: { at: number }): Values {
    return Object.fromEntries(
      fields.map(({ name, type }) => [name, this.#read(type, data, cursor)]),
    );
  }

  #read(type: Type, data: Buffer, cursor: { at: number }): Value {
    const { at } = cursor;
    const step = (size: number) => {
      cursor.at += size;
    };
    switch (type) {
      case 'u8':
        step(1);
        return BigInt(data.readUInt8(at));
      case 'bool':
        step(1);
        return data.readUInt8(at) === 1;
      case 'u32':
        step(4);
        return BigInt(data.readUInt32LE(at));
      case 'u64':
        step(8);
        return data.readBigUInt64LE(at);
      case 'pubkey':
        step(32);
        return encodeBase58(data.subarray(at, at + 32));
      default:
    }
    if (typeof type === 'string') throw new TypeError(`docs/idl uses the type ${type}`);
    if ('defined' in type) return this.#readFields(this.#fieldsOf(type.defined.name), data, cursor);
    step(4);
    const { vec } = type;
    return Array.from({ length: data.readUInt32LE(at) }, () => this.#read(vec, data, cursor));
  }

  #fieldsOf(typeName: string): readonly Field[] {
    return this.#file.types.find(({ name }) => name === typeName)?.type.fields ?? [];
  }
}

function findByTag<Row extends { readonly discriminator: readonly number[] }>(
  rows: readonly Row[],
  data: Buffer,
): Row | undefined {
  const tag = data.subarray(0, TAG_BYTES);
  return rows.find(({ discriminator }) => tag.equals(Buffer.from(discriminator)));
}

/** The IDLs by the address of their program. */
export const IDLS: ReadonlyMap<string, Idl> = new Map(
  readdirSync(folder).map((file) => {
    const idl = new Idl(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as IdlFile);
    return [idl.address, idl];
  }),
);
