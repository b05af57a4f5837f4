/**
 * Rebuilds the IDLs that programs have stored on the ledger, from the instructions that wrote them.
 *
 *   Anchor            The program has an account for its IDL, with zlib of JSON. `Write` appends to this account or to a buffer, and
 *                     `SetBuffer` copies a buffer into it.
 *   Program Metadata  A program of its own has an account for each described program, with JSON that may be compressed. `Write` fills
 *                     a buffer; `Initialize` and `SetData` make its bytes, or the bytes of the instruction, the IDL.
 *
 * Only accounts whose address follows from the program are read, i.e. those that its upgrade authority controls. The instructions are
 * trusted as far as the ledger executed them. Their bytes are not: an IDL that cannot be used is skipped with a reason.
 */
import { createHash } from 'node:crypto';
import { gunzipSync, inflateSync } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import { isOnCurve } from '@sluice/base/ed25519';
import { memberOf, messageOf } from '@sluice/protocol/unknown-value';
import { idlLengthMax, readIdl } from './idl/read-idl.ts';

/** The start of the data of Anchor's instructions for IDLs. */
export const anchorIdlTag = '0x40f4bc78a7e9690a';
export const metadataProgramId = 'ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S';

/** The ledger has no larger accounts. */
const accountBytesMax = 10 << 20;
/** The memory for accounts that are being written. The one that was written least recently is given up first. */
const allBytesMax = 64 << 20;

export interface LedgerInstruction {
  readonly programId: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** An IDL that was complete after a slot, or the reason why the stored bytes are not used. */
export type LedgerIdl = {
  readonly programId: string;
  readonly slot: number;
  readonly origin: 'anchor' | 'program-metadata';
} & ({ readonly text: string } | { readonly reason: string });

type Home = Pick<LedgerIdl, 'programId' | 'origin'>;

/** Bytes that became the content of an account for an IDL. */
interface Stored {
  readonly bytes: Uint8Array;
  readonly compression: number;
  /** Whether all instructions that wrote the bytes were read. */
  readonly isWhole: boolean;
  /** Why the bytes are not an IDL. */
  readonly reason?: string;
}

export class LedgerIdls {
  readonly #accounts = new WrittenAccounts();
  /** The accounts for IDLs, by their addresses. */
  readonly #homes = new Map<string, Home>();
  readonly #programIds: ReadonlySet<string>;
  readonly #texts = new Map<string, string>();
  /** IDLs whose compressed bytes end too early. Most are completed by a later instruction. */
  readonly #unfinished = new Map<string, LedgerIdl>();
  /** The accounts for IDLs that the current block has changed. */
  readonly #changed = new Map<string, Stored>();

  constructor(programIds: readonly string[]) {
    this.#programIds = new Set(programIds);
    for (const programId of programIds) {
      this.#homes.set(anchorIdlAddress(programId), { programId, origin: 'anchor' });
      this.#homes.set(metadataIdlAddress(programId), { programId, origin: 'program-metadata' });
    }
  }

  /** Takes the executed instructions of a block in their order. Returns the IDLs that it completed, at most one for each account. */
  takeBlock(slot: number, instructions: Iterable<LedgerInstruction>): readonly LedgerIdl[] {
    this.#changed.clear();
    for (const instruction of instructions) {
      const { programId, data } = instruction;
      if (programId === metadataProgramId) this.#takeMetadata(instruction);
      else if (this.#programIds.has(programId) && hexOf(data, 0, 8) === anchorIdlTag)
        this.#takeAnchor(instruction);
    }
    return [...this.#changed].flatMap(([address, stored]) => this.#read(address, slot, stored));
  }

  /** Returns the IDLs that no instruction completed so far. */
  get unfinished(): readonly LedgerIdl[] {
    return [...this.#unfinished.values()];
  }

  #takeAnchor({ data, accounts }: LedgerInstruction): void {
    const [first = '', second = ''] = accounts;
    const kind = data[8];
    if (kind === 0) this.#accounts.create(second);
    else if (kind === 1) this.#accounts.create(first);
    else if (kind === 2 && data.length >= 13) {
      const length = new DataView(data.buffer, data.byteOffset).getUint32(9, true);
      const end = this.#accounts.lengthOf(first);
      this.#accounts.write(first, end, data.subarray(13, 13 + length));
      this.#changeAnchor(first);
    } else if (kind === 3) {
      this.#accounts.copy(first, second);
      this.#changeAnchor(second);
    } else if (kind === 5) this.#close(first);
  }

  #changeAnchor(address: string): void {
    const zlib = 2;
    this.#change(address, { ...this.#accounts.read(address), compression: zlib });
  }

  #takeMetadata({ data, accounts }: LedgerInstruction): void {
    const [first = '', , third = ''] = accounts;
    const kind = data[0];
    if (kind === 0 && data.length >= 5) {
      const offset = new DataView(data.buffer, data.byteOffset).getUint32(1, true);
      if (data.length > 5) this.#accounts.write(first, offset, data.subarray(5));
      else this.#accounts.write(first, offset, this.#accounts.read(third).bytes, third);
    } else if (kind === 1 && data.length >= 21) {
      this.#setMetadata(first, first, { compression: data[18], source: data[20] }, data.slice(21));
    } else if (kind === 3 && data.length >= 5) {
      this.#setMetadata(first, third, { compression: data[2], source: data[4] }, data.slice(5));
    } else if (kind === 6) this.#close(first);
    else if (kind === 7) this.#accounts.create(first);
  }

  /** Without bytes in the instruction, those of a buffer become the metadata. */
  #setMetadata(
    address: string,
    buffer: string,
    {
      compression = 0,
      source = 0,
    }: { compression: number | undefined; source: number | undefined },
    bytes: Uint8Array,
  ): void {
    const content = bytes.length > 0 ? { bytes, isWhole: true } : this.#accounts.read(buffer);
    this.#change(address, {
      ...{ ...content, compression },
      ...(source === 0 ? {} : { reason: 'it is not stored on the ledger, only its address is' }),
    });
  }

  #change(address: string, stored: Stored): void {
    if (this.#homes.has(address)) this.#changed.set(address, stored);
  }

  /** An IDL whose account was closed stays in use, because the program is still the same. */
  #close(address: string): void {
    this.#accounts.remove(address);
    this.#changed.delete(address);
    this.#unfinished.delete(address);
  }

  #read(address: string, slot: number, stored: Stored): readonly LedgerIdl[] {
    const home = this.#homes.get(address);
    assert(home !== undefined, 'only accounts for IDLs are noted as changed');
    this.#unfinished.delete(address);
    const result = readStored(stored);
    if ('text' in result) {
      if (this.#texts.get(address) === result.text) return [];
      this.#texts.set(address, result.text);
      return [{ ...home, slot, text: result.text }];
    }
    const skipped = { ...home, slot, reason: result.reason };
    if (!result.isUnfinished) return [skipped];
    this.#unfinished.set(address, skipped);
    return [];
  }
}

/** The content of accounts, as far as it is known from the instructions that were taken. */
class WrittenAccounts {
  /** The account that was written least recently comes first. */
  readonly #accounts = new Map<string, { bytes: Uint8Array; length: number; isWhole: boolean }>();
  #bytes = 0;

  create(address: string): void {
    this.#put(address, { bytes: new Uint8Array(0), length: 0, isWhole: true });
  }

  lengthOf(address: string): number {
    return this.#accounts.get(address)?.length ?? 0;
  }

  read(address: string): { readonly bytes: Uint8Array; readonly isWhole: boolean } {
    const account = this.#accounts.get(address);
    if (account === undefined) return { bytes: new Uint8Array(0), isWhole: false };
    return { bytes: account.bytes.slice(0, account.length), isWhole: account.isWhole };
  }

  /** Writes bytes, which may come from another account. The ledger does not execute writes beyond the largest size. */
  write(address: string, offset: number, bytes: Uint8Array, source?: string): void {
    if (offset + bytes.length > accountBytesMax) return;
    const before = this.#accounts.get(address);
    const length = Math.max(before?.length ?? 0, offset + bytes.length);
    let memory = before?.bytes ?? new Uint8Array(0);
    if (memory.length < length) {
      memory = new Uint8Array(Math.min(length * 2, accountBytesMax));
      memory.set(before?.bytes ?? []);
    }
    memory.set(bytes, offset);
    const isWhole =
      before?.isWhole === true &&
      (source === undefined || this.#accounts.get(source)?.isWhole === true);
    this.#put(address, { bytes: memory, length, isWhole });
  }

  copy(from: string, to: string): void {
    const { bytes, isWhole } = this.read(from);
    this.#put(to, { bytes, length: bytes.length, isWhole });
  }

  remove(address: string): void {
    this.#bytes -= this.#accounts.get(address)?.bytes.length ?? 0;
    this.#accounts.delete(address);
  }

  #put(address: string, account: { bytes: Uint8Array; length: number; isWhole: boolean }): void {
    this.remove(address);
    this.#accounts.set(address, account);
    this.#bytes += account.bytes.length;
    for (const oldest of this.#accounts.keys()) {
      if (this.#bytes <= allBytesMax && this.#accounts.size <= accountCountMax) return;
      this.remove(oldest);
    }
  }
}

/** Empty accounts take memory too. */
const accountCountMax = 10_000;

type IdlText =
  | { readonly text: string }
  | { readonly reason: string; readonly isUnfinished: boolean };

function readStored({ bytes, compression, isWhole, reason }: Stored): IdlText {
  if (reason !== undefined) return { reason, isUnfinished: false };
  try {
    return { text: checkIdl(decompress(bytes, compression).toString()) };
  } catch (error) {
    const isUnfinished = memberOf(error, 'code') === 'Z_BUF_ERROR';
    const fault = isUnfinished ? 'its compressed bytes end too early' : messageOf(error);
    const hint = isWhole ? '' : ' (it was written in part before the first slot that was read)';
    return { reason: `${fault}${hint}`, isUnfinished };
  }
}

/** The output is limited, because a few bytes can be the compressed form of gigabytes. */
function decompress(bytes: Uint8Array, compression: number): Buffer {
  const options = { maxOutputLength: idlLengthMax };
  if (compression === 1) return gunzipSync(bytes, options);
  if (compression === 2) return inflateSync(bytes, options);
  // An account may be longer than its JSON.
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return Buffer.from(bytes.subarray(0, end));
}

/** Returns the text of an IDL without other programs: a program must not change how another one is decoded. Throws `idl-invalid`. */
function checkIdl(text: string): string {
  if (readIdl(text).length === 1) return text;
  return JSON.stringify({ ...JSON.parse(text), additionalPrograms: [] });
}

/** Returns the address of the account in which Anchor stores the IDL of a program. */
export function anchorIdlAddress(programId: string): string {
  const program = bytesOf(programId);
  const hash = createHash('sha256').update(deriveAddress([], program));
  return encodeBase58(hash.update('anchor:idl').update(program).digest());
}

/** Returns the address of the account in which the Program Metadata program stores the IDL of a program. */
export function metadataIdlAddress(programId: string): string {
  const seed = Buffer.alloc(16);
  seed.write('idl');
  return encodeBase58(deriveAddress([bytesOf(programId), seed], bytesOf(metadataProgramId)));
}

/** Returns the first address that is off the curve, counting the last seed down from 255. */
function deriveAddress(seeds: readonly Uint8Array[], program: Uint8Array): Uint8Array {
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256');
    for (const seed of [...seeds, Uint8Array.of(bump), program]) hash.update(seed);
    const address = hash.update('ProgramDerivedAddress').digest();
    if (!isOnCurve(address)) return address;
  }
  assert(false, 'half of all hashes are off the curve');
}

function bytesOf(address: string): Uint8Array {
  const bytes = decodeBase58(address);
  assert(bytes !== undefined, 'addresses are checked before they are used');
  return bytes;
}

function hexOf(bytes: Uint8Array, start: number, end: number): string {
  return `0x${Buffer.from(bytes.subarray(start, end)).toString('hex')}`;
}
