/** Compiles types to functions that read a value and append its JSON text. */
import { unreachable } from '@sluice/base/assert';
import { encodeBase58 } from '@sluice/base/base58';
import type { Cursor } from './cursor.ts';
import type { IdlField, IdlType, ItemCount, Move, TextEncoding } from './program-description.ts';

export type ReadValue = (c: Cursor) => void;

/** The nesting of defined types is limited, because a type can contain itself without reading any bytes. */
const depthMax = 64;

/** Compiles the types of one program. */
export class TypeCompiler {
  readonly #types: ReadonlyMap<string, IdlType>;
  readonly #compiled = new Map<string, ReadValue>();
  #depth = 0;

  constructor(types: ReadonlyMap<string, IdlType>) {
    this.#types = types;
  }

  compile(type: IdlType): ReadValue {
    switch (type.kind) {
      case 'integer':
        return integerReader(type.bytes, type.isSigned, type.isBigEndian);
      case 'float':
        return floatReader(type.bytes);
      case 'shortInteger':
        return (c) => write(c, readShort(c, type.bytesMax));
      case 'boolean':
        return this.#boolean(type.size);
      case 'publicKey':
        return readKey;
      case 'bytes':
        return readBytes;
      case 'unit':
        return textWriter('null');
      case 'string':
        return TEXT_READERS[type.encoding];
      case 'struct':
        return this.#struct(type.fields);
      case 'defined':
        return this.#defined(type.name);
      default:
        return this.#compileNested(type);
    }
  }

  #compileNested(
    type: Extract<
      IdlType,
      { readonly item: IdlType } | { readonly kind: 'map' | 'tuple' | 'enum' }
    >,
  ): ReadValue {
    switch (type.kind) {
      case 'sized':
        return this.#sized(type);
      case 'terminated':
        return this.#terminated(type);
      case 'array':
        return isByte(type.item)
          ? this.#byteArray(type.count)
          : this.#list(type.count, this.compile(type.item));
      case 'map':
        return this.#list(type.count, this.#tuple([type.key, type.value]));
      case 'option':
        return this.#option(type);
      case 'remainderOption':
        return remainderOption(this.compile(type.item));
      case 'zeroable':
        return this.#zeroable(type);
      case 'tuple':
        return this.#tuple(type.items);
      case 'enum':
        return this.#enum(type);
      case 'moved':
        return moved(this.compile(type.item), type.before, type.after);
      case 'hidden':
        return moved(
          this.compile(type.item),
          { from: 'here', by: type.before },
          { from: 'here', by: type.after },
        );
      default:
        return unreachable(type);
    }
  }

  /** Reads fields in order and appends those that are not hidden as the members of an object. */
  fields(
    fields: readonly IdlField[],
  ): readonly { readonly name: string; readonly read: ReadValue }[] {
    let comma = '';
    return fields.map(({ name, type, isHidden }) => {
      const read = this.compile(type);
      if (isHidden === true) return { name, read: silent(read) };
      const label = `${comma}${JSON.stringify(name)}:`;
      comma = ',';
      return {
        name,
        read: (c: Cursor) => {
          c.text += label;
          read(c);
        },
      };
    });
  }

  #boolean(size: IdlType): ReadValue {
    const readSize = this.#number(size);
    return (c) => {
      const value = readSize(c);
      c.text += value === 0 ? 'false' : 'true';
      if (value > 1) c.fail('a boolean is neither 0 nor 1');
    };
  }

  /** Reads an integer that is a length, a flag or the number of a variant. */
  #number(type: IdlType): (c: Cursor) => number {
    if (type.kind === 'shortInteger') return (c) => readShort(c, type.bytesMax);
    if (type.kind === 'integer') return numberReader(type.bytes, type.isBigEndian);
    const read = this.compile(type);
    return (c) => {
      const before = c.text;
      read(c);
      const value = Number(c.text.slice(before.length));
      c.text = before;
      if (!Number.isSafeInteger(value)) c.fail('a length is not an integer');
      return value;
    };
  }

  #struct(fields: readonly IdlField[]): ReadValue {
    const readers = this.fields(fields).map(({ read }) => read);
    return (c) => {
      c.text += '{';
      for (const read of readers) if (c.fault === undefined) read(c);
      c.text += '}';
    };
  }

  #tuple(items: readonly IdlType[]): ReadValue {
    const readers = items.map((item) => this.compile(item));
    return (c) => {
      c.text += '[';
      for (const [i, read] of readers.entries()) {
        if (c.fault !== undefined) return;
        if (i > 0) c.text += ',';
        read(c);
      }
      c.text += ']';
    };
  }

  #sized({ size, item }: Extract<IdlType, { kind: 'sized' }>): ReadValue {
    const read = this.compile(item);
    const readSize = typeof size === 'number' ? () => size : this.#number(size);
    const isPadded = typeof size === 'number' && item.kind === 'string';
    return (c) => {
      const byteCount = readSize(c);
      const start = c.fault === undefined ? c.take(byteCount) : -1;
      if (start < 0) return;
      const [end, next] = [c.end, c.at];
      c.at = start;
      c.end = next;
      if (isPadded) while (c.end > start && c.bytes[c.end - 1] === 0) c.end--;
      read(c);
      c.at = next;
      c.end = end;
    };
  }

  #terminated({ sentinel, item }: Extract<IdlType, { kind: 'terminated' }>): ReadValue {
    const read = this.compile(item);
    return (c) => {
      const found = c.bytes.subarray(0, c.end).indexOf(sentinel, c.at);
      if (found < 0) return void c.fail('the end of a value is missing');
      const { end } = c;
      c.end = found;
      read(c);
      c.at = found + sentinel.length;
      c.end = end;
    };
  }

  #byteArray(count: ItemCount): ReadValue {
    if (count === 'remainder') return readBytes;
    const size = typeof count === 'number' ? count : count.prefix;
    return this.#sized({ kind: 'sized', size, item: { kind: 'bytes' } });
  }

  #list(count: ItemCount, read: ReadValue): ReadValue {
    if (count === 'remainder') {
      return (c) => {
        c.text += '[';
        for (let isFirst = true; c.at < c.end && c.enter(); isFirst = false) {
          if (!isFirst) c.text += ',';
          read(c);
        }
        c.text += ']';
      };
    }
    const readCount = typeof count === 'number' ? () => count : this.#number(count.prefix);
    return (c) => {
      const itemCount = readCount(c);
      c.text += '[';
      for (let i = 0; i < itemCount && c.enter(); i++) {
        if (i > 0) c.text += ',';
        read(c);
      }
      c.text += ']';
    };
  }

  #option({ prefix, item, isFixed }: Extract<IdlType, { kind: 'option' }>): ReadValue {
    const readFlag = this.#number(prefix);
    const read = this.compile(item);
    const skip = silent(read);
    return (c) => {
      const flag = readFlag(c);
      if (flag > 1) c.fail('the flag of an optional value is neither 0 nor 1');
      if (flag === 1) return read(c);
      c.text += 'null';
      if (isFixed) skip(c);
    };
  }

  #zeroable({ item, none }: Extract<IdlType, { kind: 'zeroable' }>): ReadValue {
    const read = this.compile(item);
    return (c) => {
      const [start, before] = [c.at, c.text];
      read(c);
      if (c.fault !== undefined) return;
      for (let at = start; at < c.at; at++) if (c.bytes[at] !== (none?.[at - start] ?? 0)) return;
      c.text = `${before}null`;
    };
  }

  #enum({ size, variants }: Extract<IdlType, { kind: 'enum' }>): ReadValue {
    const readNumber = this.#number(size);
    const readers = new Map(
      variants.map(({ name, number, type }): [number, ReadValue] => {
        const label = JSON.stringify(name);
        if (type === undefined) return [number, textWriter(label)];
        const read = this.compile(type);
        return [
          number,
          (c) => {
            c.text += `{${label}:`;
            read(c);
            c.text += '}';
          },
        ];
      }),
    );
    return (c) => {
      const number = readNumber(c);
      const read = readers.get(number);
      if (read === undefined) c.fail(`the IDL has no variant ${number} of an enum`);
      else if (c.enter()) read(c);
    };
  }

  #defined(name: string): ReadValue {
    return (c) => {
      const read = this.#compiled.get(name) ?? this.#compileDefined(name);
      if (read === undefined) return void c.fail(`the IDL does not define the type ${name}`);
      if (this.#depth >= depthMax) return void c.fail('the types are nested too deeply');
      this.#depth++;
      if (c.enter()) read(c);
      this.#depth--;
    };
  }

  #compileDefined(name: string): ReadValue | undefined {
    const type = this.#types.get(name);
    if (type === undefined) return undefined;
    const read = this.compile(type);
    this.#compiled.set(name, read);
    return read;
  }
}

export function isByte(type: IdlType): boolean {
  return type.kind === 'integer' && type.bytes === 1 && !type.isSigned;
}

function write(c: Cursor, value: number): void {
  if (c.fault === undefined) c.text += value;
}

/** Reads a value without appending its text. */
function silent(read: ReadValue): ReadValue {
  return (c) => {
    const before = c.text;
    read(c);
    c.text = before;
  };
}

function textWriter(text: string): ReadValue {
  return (c) => {
    c.text += text;
  };
}

function remainderOption(read: ReadValue): ReadValue {
  return (c) => {
    if (c.at < c.end) read(c);
    else c.text += 'null';
  };
}

function moved(read: ReadValue, before: Move | undefined, after: Move | undefined): ReadValue {
  return (c) => {
    const base = c.at;
    move(c, before, base);
    const start = c.at;
    if (c.fault === undefined) read(c);
    move(c, after, start);
  };
}

function move(c: Cursor, by: Move | undefined, start: number): void {
  if (by === undefined || c.fault !== undefined) return;
  const from = by.from === 'here' ? c.at : by.from === 'value' ? start : c.start;
  const to = (by.from === 'start' && by.by < 0 ? c.end : from) + by.by;
  if (to < c.start || to > c.end) c.fail('a value is outside of the data');
  else c.at = to;
}

/** Reads an unsigned integer as a number. Values that a number cannot represent are larger than any data, so they fail as lengths. */
function numberReader(byteCount: number, isBigEndian: boolean): (c: Cursor) => number {
  return (c) => {
    const at = c.take(byteCount);
    if (at < 0) return 0;
    if (byteCount === 1) return c.view.getUint8(at);
    if (byteCount === 2) return c.view.getUint16(at, !isBigEndian);
    if (byteCount === 4) return c.view.getUint32(at, !isBigEndian);
    return Number(readBig(c, at, byteCount, isBigEndian));
  };
}

/** Reads seven bits per byte, least significant first; the highest bit says whether another byte follows. */
function readShort(c: Cursor, bytesMax: number): number {
  let value = 0;
  for (let i = 0; i < bytesMax; i++) {
    const at = c.take(1);
    if (at < 0) return 0;
    const byte = c.view.getUint8(at);
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) break;
  }
  if (value > Number.MAX_SAFE_INTEGER) c.fail('an integer of variable length is too large');
  return value;
}

function readBig(c: Cursor, at: number, byteCount: number, isBigEndian: boolean): bigint {
  let value = 0n;
  for (let i = 0; i < byteCount; i += 8) {
    const word = c.view.getBigUint64(isBigEndian ? at + i : at + byteCount - 8 - i, !isBigEndian);
    value = (value << 64n) | word;
  }
  return value;
}

const twoTo32 = 2 ** 32;
/** The high 32 bits of the first 64-bit integer that a number does not represent exactly. */
const unsafeHigh = 2 ** 21;

function integerReader(byteCount: number, isSigned: boolean, isBigEndian: boolean): ReadValue {
  if (byteCount <= 4) return smallReader(byteCount, isSigned, isBigEndian);
  if (byteCount === 8 && !isBigEndian) return isSigned ? readLong : readUlong;
  return (c) => {
    const at = c.take(byteCount);
    if (at < 0) return;
    const value = readBig(c, at, byteCount, isBigEndian);
    appendBig(c, isSigned ? BigInt.asIntN(byteCount * 8, value) : value);
  };
}

function smallReader(byteCount: number, isSigned: boolean, isBigEndian: boolean): ReadValue {
  const isLittle = !isBigEndian;
  const read: (view: DataView, at: number) => number =
    byteCount === 1
      ? (view, at) => (isSigned ? view.getInt8(at) : view.getUint8(at))
      : byteCount === 2
        ? (view, at) => (isSigned ? view.getInt16(at, isLittle) : view.getUint16(at, isLittle))
        : (view, at) => (isSigned ? view.getInt32(at, isLittle) : view.getUint32(at, isLittle));
  return (c) => {
    const at = c.take(byteCount);
    if (at >= 0) c.text += read(c.view, at);
  };
}

function readUlong(c: Cursor): void {
  const at = c.take(8);
  if (at < 0) return;
  const high = c.view.getUint32(at + 4, true);
  if (high < unsafeHigh) c.text += high * twoTo32 + c.view.getUint32(at, true);
  else c.text += `"${c.view.getBigUint64(at, true)}"`;
}

function readLong(c: Cursor): void {
  const at = c.take(8);
  if (at < 0) return;
  const high = c.view.getInt32(at + 4, true);
  if (high < unsafeHigh && high >= -unsafeHigh) appendBig(c, c.view.getBigInt64(at, true));
  else c.text += `"${c.view.getBigInt64(at, true)}"`;
}

/** Integers that a JavaScript number does not represent exactly are texts. */
function appendBig(c: Cursor, value: bigint): void {
  const isSafe = value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER;
  c.text += isSafe ? `${value}` : `"${value}"`;
}

function floatReader(byteCount: 4 | 8): ReadValue {
  return (c) => {
    const at = c.take(byteCount);
    if (at < 0) return;
    const value = byteCount === 4 ? c.view.getFloat32(at, true) : c.view.getFloat64(at, true);
    c.text += Number.isFinite(value) ? JSON.stringify(value) : `"${value}"`;
  };
}

/** Programs use the same addresses again and again. */
const keyTexts = new Map<string, string>();
const keyTextCountMax = 10_000;

function readKey(c: Cursor): void {
  const at = c.take(32);
  if (at < 0) return;
  const key = c.bytes.toString('latin1', at, at + 32);
  let text = keyTexts.get(key);
  if (text === undefined) {
    if (keyTexts.size >= keyTextCountMax) keyTexts.clear();
    text = `"${encodeBase58(c.bytes.subarray(at, at + 32))}"`;
    keyTexts.set(key, text);
  }
  c.text += text;
}

function readBytes(c: Cursor): void {
  c.text += `"0x${c.bytes.toString('hex', c.at, c.end)}"`;
  c.at = c.end;
}

const textReader =
  (decode: (c: Cursor) => string): ReadValue =>
  (c) => {
    c.text += JSON.stringify(decode(c));
    c.at = c.end;
  };

/** Base58 takes time that grows with the square of the length. */
const base58BytesMax = 1_024;

const TEXT_READERS: Readonly<Record<TextEncoding, ReadValue>> = {
  utf8: textReader((c) => c.bytes.toString('utf8', c.at, c.end)),
  base16: textReader((c) => c.bytes.toString('hex', c.at, c.end)),
  base64: textReader((c) => c.bytes.toString('base64', c.at, c.end)),
  base58: textReader((c) => {
    if (c.end - c.at > base58BytesMax) c.fail('a base58 text is too long');
    return c.fault === undefined ? encodeBase58(c.bytes.subarray(c.at, c.end)) : '';
  }),
};
