/** The IDLs by which a service decodes: those of the ledger's own programs, and registered ones with the slots for which they hold. */
import { CodedError } from '@sluice/base/errors';
import { BUILTIN_PROGRAMS } from './builtin/builtin-programs.ts';
import { readIdl } from './idl/read-idl.ts';
import { ProgramDecoder } from './program-decoder.ts';
import type { ProgramDescription } from './program-description.ts';

/** An IDL as it was registered. Threads exchange these, and compile them themselves. */
export interface RegisteredIdl {
  /** Where it came from, such as the name of a file. A later one with the same name replaces it. */
  readonly name: string;
  /** The JSON text. */
  readonly text: string;
  /** Overrides the address in the IDL, which older ones lack. */
  readonly programId?: string | undefined;
  /** The first and the last slot for which it holds. Absent means no limit. */
  readonly fromSlot?: number | undefined;
  readonly toSlot?: number | undefined;
}

interface Version {
  readonly name: string;
  readonly fromSlot: number;
  readonly toSlot: number;
  readonly description: ProgramDescription;
}

/** A decoder is compiled when it is first needed, because most queries need few. */
const decoders = new WeakMap<ProgramDescription, ProgramDecoder>();

function decoderOf(description: ProgramDescription): ProgramDecoder {
  let decoder = decoders.get(description);
  if (decoder === undefined) {
    decoder = new ProgramDecoder(description);
    decoders.set(description, decoder);
  }
  return decoder;
}

/** An immutable set of IDLs. */
export class IdlRegistry {
  /** Registered ones with the highest first slot come first, the built-in one last. */
  readonly #versions = new Map<string, Version[]>();

  /** Grows whenever the IDLs of a service change. */
  readonly version: number;

  /** Throws `idl-invalid` or `idl-address-missing` with the name of the IDL that cannot be used. */
  constructor(idls: readonly RegisteredIdl[] = [], version = 0) {
    this.version = version;
    for (const description of BUILTIN_PROGRAMS)
      this.#add(description, { name: 'built-in', text: '' });
    for (const idl of idls)
      for (const description of readRegistered(idl)) this.#add(description, idl);
    for (const versions of this.#versions.values()) {
      versions.sort(
        (a, b) =>
          Number(a.name === 'built-in') - Number(b.name === 'built-in') || b.fromSlot - a.fromSlot,
      );
    }
  }

  #add(
    description: ProgramDescription,
    { name, fromSlot = 0, toSlot = Infinity }: RegisteredIdl,
  ): void {
    const address = description.address ?? '';
    const version = { name, fromSlot, toSlot, description };
    const versions = this.#versions.get(address);
    if (versions === undefined) this.#versions.set(address, [version]);
    else versions.push(version);
  }

  /** Returns the decoder of a program for a slot: of the IDL that starts last, if several hold. */
  find(programId: string, slot: number): ProgramDecoder | undefined {
    const version = this.#versions
      .get(programId)
      ?.find(({ fromSlot, toSlot }) => fromSlot <= slot && slot <= toSlot);
    return version === undefined ? undefined : decoderOf(version.description);
  }

  /** Returns whether the same IDL of a program holds for all slots of a range. */
  isSameFor(programId: string, first: number, last: number): boolean {
    const isApart = ({ fromSlot, toSlot }: Version) => toSlot < first || fromSlot > last;
    const isAround = ({ fromSlot, toSlot }: Version) => fromSlot <= first && toSlot >= last;
    const versions = this.#versions.get(programId) ?? [];
    return versions.every((version) => isApart(version) || isAround(version));
  }

  /** Returns the descriptions of a program by all its IDLs, the newest registered one first. */
  descriptions(programId: string): readonly ProgramDescription[] {
    return (this.#versions.get(programId) ?? []).map(({ description }) => description);
  }

  /** Returns the names of the instructions of a program, of all its IDLs. */
  instructionNames(programId: string): readonly string[] {
    return [...new Set(this.#instructions(programId).map(({ name }) => name))];
  }

  /** Returns the first bytes of the data of an instruction as `0x` and hex digits, one for each form that it has in the IDLs. */
  dataStarts(programId: string, name: string): readonly string[] {
    const starts = this.#instructions(programId)
      .filter((instruction) => instruction.name === name)
      .map(({ discriminators }) => `0x${startOf(discriminators)}`);
    return [...new Set(starts)];
  }

  #instructions(programId: string): ProgramDescription['instructions'] {
    return this.descriptions(programId).flatMap(({ instructions }) => instructions);
  }
}

/** Returns the constant bytes from the start on, without a gap, in hexadecimal. */
function startOf(
  discriminators: ProgramDescription['instructions'][number]['discriminators'],
): string {
  let hex = '';
  for (const { offset, bytes } of [...discriminators].sort((a, b) => a.offset - b.offset)) {
    if (offset * 2 === hex.length) hex += Buffer.from(bytes).toString('hex');
  }
  return hex;
}

const readIdls = new WeakMap<RegisteredIdl, readonly ProgramDescription[]>();

/** Reads an IDL once and gives its program the address under which it is registered. Throws as the registry does. */
export function readRegistered(idl: RegisteredIdl): readonly ProgramDescription[] {
  const known = readIdls.get(idl);
  if (known !== undefined) return known;
  const descriptions = readDescriptions(idl);
  readIdls.set(idl, descriptions);
  return descriptions;
}

function readDescriptions({ name, text, programId }: RegisteredIdl): readonly ProgramDescription[] {
  const [main, ...others] = readIdl(text);
  if (main === undefined) return [];
  const address = programId ?? main.address;
  if (address === undefined) throw new CodedError('idl-address-missing', { name });
  return [{ ...main, address }, ...others];
}
