/**
 * Compiles types to code that the kernel runs. It reads and writes the same as the functions of `compile-type.ts`, which decode whatever the
 * code leaves to the host: rare types, and all data that does not fit its type.
 */
import { unreachable } from '@sluice/base/assert';
import * as layout from '@sluice/kernels/layout/decoding';
import type { CodeWriter } from './code-writer.ts';
import { isByte } from './compile-type.ts';
import type { IdlField, IdlType, IdlVariant, ItemCount, Move } from './program-description.ts';

type TypeOf<Kind extends IdlType['kind']> = Extract<IdlType, { readonly kind: Kind }>;
type Operands = readonly [kind: number, value: number];

const wordMax = 0xffff_ffff;
const isWord = (value: number) => Number.isInteger(value) && value >= 0 && value <= wordMax;
const isOffset = (value: number) => Number.isInteger(value) && Math.abs(value) < 2 ** 31;

const UNSIGNED = new Map([
  [1, layout.OP_U8],
  [2, layout.OP_U16],
  [4, layout.OP_U32],
  [8, layout.OP_U64],
]);
const SIGNED = new Map([
  [1, layout.OP_I8],
  [2, layout.OP_I16],
  [4, layout.OP_I32],
  [8, layout.OP_I64],
]);
const wideBytes = [16, 32];

/** Compiles the types of one program. */
export class CodeCompiler {
  readonly #types: ReadonlyMap<string, IdlType>;
  readonly #out: CodeWriter;
  /** Where the code of each defined type is called from. */
  readonly #calls = new Map<string, number[]>();
  /** Where the code of each defined type is, once it was written. */
  readonly #addresses = new Map<string, number>();

  constructor(types: ReadonlyMap<string, IdlType>, out: CodeWriter) {
    this.#types = types;
    this.#out = out;
  }

  /** Writes the defined types that are used, and their addresses in the calls. */
  finish(): void {
    // The code of a type may call further types, which the loop visits too.
    for (const [name, calls] of this.#calls) {
      const at = this.#out.at;
      this.#addresses.set(name, at);
      this.#out.block(() => this.#type(this.#types.get(name) ?? { kind: 'unit' }));
      for (const call of calls) this.#out.set(call, at);
    }
  }

  /** Writes fields in order as the members of an object. */
  fields(fields: readonly IdlField[]): void {
    let comma = '';
    for (const { name, type, isHidden } of fields) {
      if (isHidden === true) {
        this.#block([layout.OP_SILENT], type);
        continue;
      }
      this.#out.text(`${comma}${JSON.stringify(name)}:`);
      comma = ',';
      this.#type(type);
    }
  }

  #type(type: IdlType): void {
    const out = this.#out;
    if (type.kind === 'publicKey') out.words(layout.OP_KEY);
    else if (type.kind === 'bytes') out.words(layout.OP_BYTES);
    else if (type.kind === 'unit') out.text('null');
    else if (type.kind === 'integer') this.#integer(type);
    else if (type.kind === 'boolean')
      this.#withNumber(type.size, (number) => out.words(layout.OP_BOOLEAN, ...number));
    else if (type.kind === 'shortInteger' && isWord(type.bytesMax))
      out.words(layout.OP_SHORT, type.bytesMax);
    else if (type.kind === 'string' && type.encoding === 'utf8') out.words(layout.OP_UTF8);
    else if (type.kind === 'defined') this.#defined(type.name);
    else if (type.kind === 'struct') {
      out.text('{');
      this.fields(type.fields);
      out.text('}');
    } else if ('item' in type) this.#withItem(type);
    else if (type.kind === 'map')
      this.#list(type.count, { kind: 'tuple', items: [type.key, type.value] });
    else if (type.kind === 'tuple') this.#tuple(type.items);
    else if (type.kind === 'enum') this.#enum(type);
    else this.#host();
  }

  #withItem(type: Extract<IdlType, { readonly item: IdlType }>): void {
    switch (type.kind) {
      case 'sized':
        this.#sized(type.size, type.item);
        break;
      case 'terminated':
        this.#terminated(type);
        break;
      case 'array':
        this.#array(type.count, type.item);
        break;
      case 'option':
        this.#withNumber(type.prefix, (number) =>
          this.#block([layout.OP_OPTION, ...number, type.isFixed ? 1 : 0], type.item),
        );
        break;
      case 'remainderOption':
        this.#block([layout.OP_REMAINDER_OPTION], type.item);
        break;
      case 'zeroable':
        this.#afterBytes(layout.OP_ZEROABLE, type.none ?? new Uint8Array(), type.item);
        break;
      case 'moved':
        this.#moved(type.item, type.before, type.after);
        break;
      case 'hidden': {
        const [before, after] = [type.before, type.after].map((by): Move => ({ from: 'here', by }));
        this.#moved(type.item, before, after);
        break;
      }
      default:
        unreachable(type);
    }
  }

  #host(): void {
    this.#out.words(layout.OP_HOST);
  }

  /** Writes an operation with the code of a type. */
  #block(operands: readonly number[], item: IdlType): void {
    this.#out.operation(operands, () => this.#out.block(() => this.#type(item)));
  }

  #integer({ bytes, isSigned, isBigEndian }: TypeOf<'integer'>): void {
    const code = (isSigned ? SIGNED : UNSIGNED).get(bytes);
    if (code !== undefined && (bytes === 1 || !isBigEndian)) this.#out.words(code);
    else if (code === undefined && !wideBytes.includes(bytes)) this.#host();
    else this.#out.words(layout.OP_INTEGER, bytes, isSigned ? 1 : 0, isBigEndian ? 1 : 0);
  }

  /** Calls a function with the operands of a length, a flag or the number of a variant. */
  #withNumber(type: IdlType | number, write: (number: Operands) => void): void {
    const number = numberOf(type);
    if (number === undefined) this.#host();
    else write(number);
  }

  #sized(size: IdlType | number, item: IdlType): void {
    const isPadded = typeof size === 'number' && item.kind === 'string' ? 1 : 0;
    this.#withNumber(size, (number) => this.#block([layout.OP_SIZED, ...number, isPadded], item));
  }

  #terminated({ sentinel, item }: TypeOf<'terminated'>): void {
    if (sentinel.length === 0) this.#host();
    else this.#afterBytes(layout.OP_TERMINATED, sentinel, item);
  }

  /** Writes an operation with bytes before its code. */
  #afterBytes(code: number, bytes: Uint8Array, item: IdlType): void {
    this.#out.operation([code], () => {
      this.#out.bytes(bytes);
      this.#out.block(() => this.#type(item));
    });
  }

  #array(count: ItemCount, item: IdlType): void {
    if (!isByte(item)) this.#list(count, item);
    else if (count === 'remainder') this.#out.words(layout.OP_BYTES);
    else this.#sized(typeof count === 'number' ? count : count.prefix, { kind: 'bytes' });
  }

  #list(count: ItemCount, item: IdlType): void {
    if (count === 'remainder') this.#block([layout.OP_LIST, layout.NUMBER_REMAINDER, 0], item);
    else
      this.#withNumber(typeof count === 'number' ? count : count.prefix, (number) =>
        this.#block([layout.OP_LIST, ...number], item),
      );
  }

  #tuple(items: readonly IdlType[]): void {
    for (const [i, item] of items.entries()) {
      this.#out.text(i === 0 ? '[' : ',');
      this.#type(item);
    }
    this.#out.text(items.length === 0 ? '[]' : ']');
  }

  #enum({ size, variants }: TypeOf<'enum'>): void {
    const byNumber = new Map(variants.map((variant) => [variant.number, variant]));
    if (![...byNumber.keys()].every(isWord)) {
      this.#host();
      return;
    }
    this.#withNumber(size, (number) =>
      this.#out.operation([layout.OP_ENUM, ...number], () => {
        const table = this.#out.at + 4;
        this.#out.words(byNumber.size, ...[...byNumber.keys()].flatMap((key) => [key, 0]));
        for (const [i, variant] of [...byNumber.values()].entries()) {
          this.#out.set(table + i * 8 + 4, this.#out.at);
          this.#out.block(() => this.#variant(variant));
        }
      }),
    );
  }

  #variant({ name, type }: IdlVariant): void {
    const label = JSON.stringify(name);
    if (type === undefined) this.#out.text(label);
    else {
      this.#out.text(`{${label}:`);
      this.#type(type);
      this.#out.text('}');
    }
  }

  #moved(item: IdlType, before: Move | undefined, after: Move | undefined): void {
    const moves = [before, after];
    const isFit = moves.every((move) => move === undefined || isOffset(move.by));
    if (isFit) this.#block([layout.OP_MOVED, ...moves.flatMap(moveOperands)], item);
    else this.#host();
  }

  #defined(name: string): void {
    if (!this.#types.has(name)) {
      this.#host();
      return;
    }
    this.#out.words(layout.OP_CALL, this.#addresses.get(name) ?? 0);
    const calls = this.#calls.get(name) ?? [];
    this.#calls.set(name, calls);
    calls.push(this.#out.at - 4);
  }
}

function numberOf(type: IdlType | number): Operands | undefined {
  if (typeof type === 'number') return isWord(type) ? [layout.NUMBER_CONSTANT, type] : undefined;
  if (type.kind === 'shortInteger')
    return isWord(type.bytesMax) ? [layout.NUMBER_SHORT, type.bytesMax] : undefined;
  if (type.kind !== 'integer' || !UNSIGNED.has(type.bytes)) return undefined;
  return [type.isBigEndian ? layout.NUMBER_BIG : layout.NUMBER_LITTLE, type.bytes];
}

const MOVES = {
  here: layout.MOVE_HERE,
  start: layout.MOVE_START,
  value: layout.MOVE_VALUE,
} as const;

function moveOperands(move: Move | undefined): readonly number[] {
  return move === undefined ? [layout.MOVE_NONE, 0] : [MOVES[move.from], move.by];
}
