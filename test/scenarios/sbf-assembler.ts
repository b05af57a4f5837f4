/**
 * A minimal assembler and linker for programs that the virtual machine loads (instruction set version 0).
 *
 *   ELF header, 3 program headers (text, dynamic symbols, dynamic section)
 *   .text      8 bytes per instruction: opcode, registers, 16-bit offset, 32-bit immediate
 *   .dynamic   the positions of the three sections below
 *   .dynsym    one undefined symbol per system call, which the loader resolves by name
 *   .dynstr    their names
 *   .rel.dyn   one relocation per call
 *   .shstrtab  section names, then the section headers
 */
import assert from 'node:assert/strict';

const CALL = 0x85;
const RELOCATION_64_32 = 10n;
const HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const PROGRAM_HEADER_COUNT = 3;
const SECTION_HEADER_BYTES = 64;

type Register = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;

export class SbfAssembler {
  readonly #code: Buffer[] = [];
  readonly #labels = new Map<string, number>();
  readonly #jumps: { readonly at: number; readonly label: string }[] = [];
  readonly #calls: { readonly at: number; readonly name: string }[] = [];

  label(name: string): void {
    this.#labels.set(name, this.#code.length);
  }

  move(to: Register, from: Register): void {
    this.#emit(0xbf, to, from);
  }

  set(to: Register, value: number): void {
    this.#emit(0xb7, to, 0, { immediate: value });
  }

  add(to: Register, from: Register): void {
    this.#emit(0x0f, to, from);
  }

  addNumber(to: Register, value: number): void {
    this.#emit(0x07, to, 0, { immediate: value });
  }

  subtract(to: Register, from: Register): void {
    this.#emit(0x1f, to, from);
  }

  andNumber(to: Register, value: number): void {
    this.#emit(0x57, to, 0, { immediate: value });
  }

  load(to: Register, base: Register, offset: number): void {
    this.#emit(0x79, to, base, { offset });
  }

  store(base: Register, offset: number, from: Register): void {
    this.#emit(0x7b, base, from, { offset });
  }

  jump(label: string): void {
    this.#jumps.push({ at: this.#code.length, label });
    this.#emit(0x05, 0, 0);
  }

  jumpIfNumber(register: Register, value: number, label: string): void {
    this.#jumps.push({ at: this.#code.length, label });
    this.#emit(0x15, register, 0, { immediate: value });
  }

  jumpIfSame(left: Register, right: Register, label: string): void {
    this.#jumps.push({ at: this.#code.length, label });
    this.#emit(0x1d, left, right);
  }

  callSystem(name: string): void {
    this.#calls.push({ at: this.#code.length, name });
    this.#emit(CALL, 0, 0, { immediate: -1 });
  }

  exit(): void {
    this.#emit(0x95, 0, 0);
  }

  link(): Uint8Array {
    for (const { at, label } of this.#jumps) {
      const target = this.#labels.get(label);
      assert(target !== undefined, `label ${label} is defined`);
      this.#code[at]?.writeInt16LE(target - at - 1, 2);
    }
    return linkProgram(Buffer.concat(this.#code), this.#calls);
  }

  #emit(
    opcode: number,
    to: Register,
    from: Register,
    rest: { offset?: number; immediate?: number } = {},
  ): void {
    const bytes = Buffer.alloc(8);
    bytes[0] = opcode;
    bytes[1] = (from << 4) | to;
    bytes.writeInt16LE(rest.offset ?? 0, 2);
    bytes.writeInt32LE(rest.immediate ?? 0, 4);
    this.#code.push(bytes);
  }
}

interface Section {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly at: number;
  readonly bytes: Buffer;
  readonly link: number;
  readonly entryBytes: number;
}

function linkProgram(text: Buffer, calls: readonly { at: number; name: string }[]): Uint8Array {
  const names = [...new Set(calls.map((call) => call.name))];
  const textAt = HEADER_BYTES + PROGRAM_HEADER_BYTES * PROGRAM_HEADER_COUNT;
  const dynamicAt = textAt + text.length;
  const dynamicEntryCount = 9;
  const symbols = buildSymbols(names);
  const symbolsAt = dynamicAt + dynamicEntryCount * 16;
  const strings = buildStrings(names);
  const stringsAt = symbolsAt + symbols.length;
  const relocations = u64s(
    calls.flatMap(({ at, name }) => [
      BigInt(textAt + at * 8),
      (BigInt(names.indexOf(name) + 1) << 32n) | RELOCATION_64_32,
    ]),
  );
  const relocationsAt = stringsAt + strings.length;
  const dynamic = u64s(
    [
      [0x1e, 4],
      [0x11, relocationsAt],
      [0x12, relocations.length],
      [0x13, 16],
      [6, symbolsAt],
      [0x0b, 24],
      [5, stringsAt],
      [0x0a, strings.length],
      [0, 0],
    ].flat(),
  );
  assert.equal(dynamic.length, dynamicEntryCount * 16);
  const sections: Section[] = [
    { name: '.text', type: 1, flags: 6, at: textAt, bytes: text, link: 0, entryBytes: 0 },
    { name: '.dynamic', type: 6, flags: 3, at: dynamicAt, bytes: dynamic, link: 4, entryBytes: 16 },
    { name: '.dynsym', type: 11, flags: 2, at: symbolsAt, bytes: symbols, link: 4, entryBytes: 24 },
    { name: '.dynstr', type: 3, flags: 2, at: stringsAt, bytes: strings, link: 0, entryBytes: 0 },
    {
      name: '.rel.dyn',
      type: 9,
      flags: 2,
      at: relocationsAt,
      bytes: relocations,
      link: 3,
      entryBytes: 16,
    },
  ];
  return buildFile(sections, textAt);
}

function buildFile(contents: readonly Section[], entryAt: number): Uint8Array {
  const last = contents.at(-1);
  assert(last !== undefined);
  const names = buildStrings([...contents.map((section) => section.name), '.shstrtab']);
  const namesSection: Section = {
    name: '.shstrtab',
    type: 3,
    flags: 0,
    at: last.at + last.bytes.length,
    bytes: names,
    link: 0,
    entryBytes: 0,
  };
  const sections = [...contents, namesSection];
  const header = Buffer.alloc(HEADER_BYTES);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  header.writeUInt16LE(3, 16); // a shared object
  header.writeUInt16LE(0x107, 18); // for this virtual machine
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(entryAt), 24);
  header.writeBigUInt64LE(BigInt(HEADER_BYTES), 32);
  header.writeBigUInt64LE(BigInt(namesSection.at + names.length), 40);
  header.writeUInt16LE(HEADER_BYTES, 52);
  header.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  header.writeUInt16LE(PROGRAM_HEADER_COUNT, 56);
  header.writeUInt16LE(SECTION_HEADER_BYTES, 58);
  header.writeUInt16LE(sections.length + 1, 60);
  header.writeUInt16LE(sections.length, 62);
  const [text, dynamic, symbols, strings, relocations] = contents;
  assert(text && dynamic && symbols && strings && relocations);
  const symbolsBytes = symbols.bytes.length + strings.bytes.length + relocations.bytes.length;
  return Buffer.concat([
    header,
    programHeader({ type: 1, flags: 5, at: text.at, length: text.bytes.length, align: 4096 }),
    programHeader({ type: 1, flags: 4, at: symbols.at, length: symbolsBytes, align: 4096 }),
    programHeader({ type: 2, flags: 6, at: dynamic.at, length: dynamic.bytes.length, align: 8 }),
    ...sections.map((section) => section.bytes),
    Buffer.alloc(SECTION_HEADER_BYTES),
    ...sections.map((section) => sectionHeader(section, names.indexOf(`\0${section.name}\0`) + 1)),
  ]);
}

function buildSymbols(names: readonly string[]): Buffer {
  const strings = buildStrings(names);
  const symbols = Buffer.alloc(24 * (names.length + 1));
  for (const [i, name] of names.entries()) {
    symbols.writeUInt32LE(strings.indexOf(`\0${name}\0`) + 1, 24 * (i + 1));
    symbols[24 * (i + 1) + 4] = 0x10; // global, of no type
  }
  return symbols;
}

function buildStrings(names: readonly string[]): Buffer {
  const text = `\0${names.map((name) => `${name}\0`).join('')}`;
  return Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8, '\0'));
}

interface ProgramHeader {
  readonly type: number;
  readonly flags: number;
  readonly at: number;
  readonly length: number;
  readonly align: number;
}

function programHeader({ type, flags, at, length, align }: ProgramHeader): Buffer {
  const kind = Buffer.alloc(8);
  kind.writeUInt32LE(type, 0);
  kind.writeUInt32LE(flags, 4);
  return Buffer.concat([kind, u64s([at, at, at, length, length, align])]);
}

function sectionHeader(section: Section, nameAt: number): Buffer {
  const bytes = Buffer.alloc(SECTION_HEADER_BYTES);
  bytes.writeUInt32LE(nameAt, 0);
  bytes.writeUInt32LE(section.type, 4);
  const address = section.flags === 0 ? 0 : section.at;
  bytes.set(u64s([section.flags, address, section.at, section.bytes.length]), 8);
  bytes.writeUInt32LE(section.link, 40);
  bytes.set(u64s([8, section.entryBytes]), 48);
  return bytes;
}

function u64s(values: readonly (number | bigint)[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [i, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), i * 8);
  return bytes;
}
