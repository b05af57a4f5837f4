import { createHash } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { decodeBase58, encodeBase58 } from '@sluice/base/base58';
import { address, createAddressWithSeed, getProgramDerivedAddress } from '@solana/kit';
import { expect, test } from 'vitest';
import {
  anchorIdlAddress,
  type LedgerIdl,
  LedgerIdls,
  type LedgerInstruction,
  metadataIdlAddress,
  metadataProgramId,
} from './ledger-idls.ts';

const key = (name: string) => encodeBase58(createHash('sha256').update(name).digest());
const program = key('program');
const idlAccount = anchorIdlAddress(program);
const [payer, buffer, other] = [key('payer'), key('buffer'), key('other')];

const idlText = (name: string, filler = 0) =>
  JSON.stringify({
    address: program,
    metadata: {
      name,
      description: createHash('shake256', { outputLength: filler + 1 })
        .update(name)
        .digest('hex'),
    },
    instructions: [
      { name: 'swap', discriminator: [1, 2, 3, 4, 5, 6, 7, 8], accounts: [], args: [] },
    ],
  });

const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const tag = Buffer.from('40f4bc78a7e9690a', 'hex');

function anchor(
  kind: number,
  accounts: readonly string[],
  rest: Uint8Array = Buffer.alloc(0),
): LedgerInstruction {
  return { programId: program, accounts, data: Buffer.concat([tag, Uint8Array.of(kind), rest]) };
}
const create = () => anchor(0, [payer, idlAccount, other, other, program], Buffer.alloc(8));
const createBuffer = (account = buffer) => anchor(1, [account, payer]);
const write = (account: string, bytes: Uint8Array) =>
  anchor(2, [account, payer], Buffer.concat([u32(bytes.length), bytes]));
const setBuffer = (account = buffer) => anchor(3, [account, idlAccount, payer]);
const close = (account: string) => anchor(5, [account, payer, payer]);

function chunksOf(bytes: Uint8Array, size = 600): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  );
}

/** Takes each list of instructions as a block, from slot 10 on. */
function run(blocks: readonly (readonly LedgerInstruction[])[]) {
  const idls = new LedgerIdls([program]);
  const found = blocks.flatMap((block, i) => idls.takeBlock(10 + i, block));
  return { found, unfinished: idls.unfinished };
}
const brief = (idl: LedgerIdl) => [idl.slot, idl.origin, 'text' in idl ? idl.text : idl.reason];

/** What the ledger has in the account after Anchor's instructions: discriminator, authority, length, bytes. A second implementation. */
class AnchorLedger {
  readonly #accounts = new Map<string, Buffer>();

  execute({ accounts: [a = '', b = ''], data }: LedgerInstruction): void {
    const bytes = Buffer.from(data);
    const kind = bytes.readUInt8(8);
    const account = this.#accounts.get(a);
    if (kind <= 1) this.#accounts.set(kind === 0 ? b : a, Buffer.alloc(100_000));
    if (kind === 2 && account !== undefined) {
      const length = account.readUInt32LE(40);
      bytes.copy(account, 44 + length, 13);
      account.writeUInt32LE(length + bytes.readUInt32LE(9), 40);
    }
    if (kind === 3 && account !== undefined) {
      const target = this.#accounts.get(b);
      account.copy(target ?? Buffer.alloc(0), 40, 40, 44 + account.readUInt32LE(40));
    }
    if (kind === 5) this.#accounts.delete(a);
  }

  /** The compressed bytes that a client reads. */
  read(name: string): Buffer {
    const account = this.#accounts.get(name) ?? Buffer.alloc(44);
    return account.subarray(44, 44 + account.readUInt32LE(40));
  }
}

test('default: the addresses of the accounts are those that Solana Kit derives', async () => {
  for (const programId of [program, 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', payer, buffer]) {
    const programAddress = address(programId);
    const [baseAddress] = await getProgramDerivedAddress({ programAddress, seeds: [] });
    const seeded = await createAddressWithSeed({ baseAddress, programAddress, seed: 'anchor:idl' });
    expect(anchorIdlAddress(programId)).toBe(seeded);
    const seeds = [decodeBase58(programId) ?? Buffer.alloc(0), Buffer.from('idl'.padEnd(16, '\0'))];
    const [metadata] = await getProgramDerivedAddress({
      programAddress: address(metadataProgramId),
      seeds,
    });
    expect(metadataIdlAddress(programId)).toBe(metadata);
  }
});

test('default: an IDL holds from the slot of its last write, and an upgrade from the slot of its buffer', () => {
  const [one, two] = [idlText('one', 2_000), idlText('two', 3_000)];
  const writes = (account: string, text: string) =>
    chunksOf(deflateSync(text)).map((chunk) => [write(account, chunk)]);
  const first = writes(idlAccount, one);
  const second = writes(buffer, two);
  expect(first.length).toBeGreaterThan(2);
  const blocks = [
    [create(), anchor(6, [idlAccount, payer], Buffer.alloc(8))],
    ...first,
    [createBuffer()],
    ...second,
    [setBuffer(), close(buffer)],
  ];
  expect(run(blocks).found.map(brief)).toEqual([
    [10 + first.length, 'anchor', one],
    [10 + first.length + second.length + 2, 'anchor', two],
  ]);
  const ledger = new AnchorLedger();
  for (const instruction of blocks.flat()) ledger.execute(instruction);
  expect(ledger.read(idlAccount).equals(deflateSync(two))).toBe(true);
});

/** Returns blocks of one instruction each, which write the texts to three accounts in parts, restart buffers, and copy them. */
function randomBlocks(seed: number, texts: readonly Uint8Array[]): readonly LedgerInstruction[][] {
  const written = new Map<string, number>();
  const random = createHash('shake256', { outputLength: 40 }).update(`${seed}`).digest();
  const blocks = [...random].map((byte) => {
    const account = [idlAccount, buffer, other][byte % 3] ?? '';
    const at = written.get(account) ?? 0;
    if (account !== idlAccount && byte >= 200) {
      written.set(account, 0);
      return [close(account), createBuffer(account)];
    }
    if (account !== idlAccount && byte % 4 === 1) return [setBuffer(account)];
    written.set(account, at + 120);
    return [write(account, (texts[(byte >> 4) % 2] ?? Buffer.alloc(0)).subarray(at, at + 120))];
  });
  return [[create(), createBuffer(), createBuffer(other)], ...blocks];
}

test('property: for any order of writes, the found IDLs are those in the account after each block', () => {
  const names = ['a', 'b'];
  const texts = names.map((name) => deflateSync(idlText(name)));
  let count = 0;
  for (let seed = 0; seed < 100; seed++) {
    const blocks = randomBlocks(seed, texts);
    const ledger = new AnchorLedger();
    let before = '';
    const expected = blocks.flatMap((block, i) => {
      for (const instruction of block) ledger.execute(instruction);
      const stored = ledger.read(idlAccount);
      const name = names.find((_, t) => texts[t]?.equals(stored.subarray(0, texts[t]?.length)));
      if (name === undefined || name === before) return [];
      before = name;
      return [[10 + i, 'anchor', idlText(name)]];
    });
    const found = run(blocks).found.filter((idl) => 'text' in idl);
    expect(found.map(brief)).toEqual(expected);
    count += expected.length;
  }
  expect(count).toBeGreaterThan(20);
});

function metadata(accounts: readonly string[], ...parts: readonly Uint8Array[]): LedgerInstruction {
  return { programId: metadataProgramId, accounts, data: Buffer.concat(parts) };
}
const home = metadataIdlAddress(program);
const seed = Buffer.from('idl'.padEnd(16, '\0'));
/** Encoding UTF-8, the compression, format JSON, and the source. */
const settings = (compression: number, source = 0) => Uint8Array.of(1, compression, 1, source);
const allocate = (account: string) => metadata([account, payer, program], Uint8Array.of(7), seed);
const fill = (account: string, offset: number, bytes: Uint8Array, source = metadataProgramId) =>
  metadata([account, payer, source], Uint8Array.of(0), u32(offset), bytes);
const initialize = (how: Uint8Array, bytes: Uint8Array = Buffer.alloc(0)) =>
  metadata([home, payer, program], Uint8Array.of(1), seed, how, bytes);
const setData = (how: Uint8Array, from: string, bytes: Uint8Array = Buffer.alloc(0)) =>
  metadata([home, payer, from], Uint8Array.of(3), how, bytes);

test('default: an IDL of the Program Metadata program: in an instruction, in the account itself, in buffers, with each compression', () => {
  const texts = ['one', 'two', 'three', 'four'].map((name) => idlText(name, 1_000));
  const [one = '', two = '', three = '', four = ''] = texts;
  const packed = deflateSync(one);
  const halves = chunksOf(gzipSync(three), Math.ceil(gzipSync(three).length / 2));
  const { found, unfinished } = run([
    [allocate(home), fill(home, 0, packed.subarray(0, 500))],
    [fill(home, 500, packed.subarray(500))],
    [initialize(settings(2))],
    [setData(settings(0), metadataProgramId, Buffer.from(two))],
    // The second half is written first, and the first one is copied from another buffer.
    [
      allocate(other),
      allocate(buffer),
      fill(buffer, halves[0]?.length ?? 0, halves[1] ?? Buffer.alloc(0)),
    ],
    [fill(other, 0, halves[0] ?? Buffer.alloc(0)), fill(buffer, 0, Buffer.alloc(0), other)],
    [setData(settings(1), buffer), metadata([buffer, payer], Uint8Array.of(6))],
    [setData(settings(0), metadataProgramId, Buffer.concat([Buffer.from(four), Buffer.alloc(9)]))],
    // The same IDL again is not another version.
    [setData(settings(2), metadataProgramId, deflateSync(four))],
  ]);
  expect(found.map(brief)).toEqual([
    [12, 'program-metadata', one],
    [13, 'program-metadata', two],
    [16, 'program-metadata', three],
    [17, 'program-metadata', four],
  ]);
  expect(unfinished).toEqual([]);
});

test('behavior: accounts of others are not read', () => {
  const text = Buffer.from(idlText('other'));
  const { found } = run([
    [{ ...initialize(settings(0), text), accounts: [other, payer, program] }],
    [{ ...write(idlAccount, deflateSync(text)), programId: other }],
    [createBuffer(other), write(other, deflateSync(text))],
  ]);
  expect(found).toEqual([]);
});

test('behavior: bytes that are not an IDL are skipped with a reason, and a later IDL is found', () => {
  const bomb = deflateSync(Buffer.alloc(64 << 20));
  const good = idlText('good');
  const cases: readonly (readonly [Uint8Array, RegExp])[] = [
    [bomb, /larger than 8388608 bytes/],
    [Buffer.from('not zlib'), /incorrect header/],
    [deflateSync('{'), /JSON/],
    [deflateSync('{"instructions":[{"args":3}]}'), /text|list/],
    [deflateSync(Buffer.from([0xff, 0xfe])), /JSON/],
    [deflateSync('['.repeat(1e6)), /JSON/],
  ];
  for (const [bytes, reason] of cases) {
    const { found } = run([
      [create(), write(idlAccount, bytes)],
      [createBuffer(), write(buffer, deflateSync(good)), setBuffer()],
    ]);
    expect(found).toHaveLength(2);
    expect(String(found.map(brief)[0]?.[2])).toMatch(reason);
    expect(found[1]).toMatchObject({ slot: 11, text: good });
  }
});

test('behavior: an IDL that is not complete is reported at the end, with what is missing', () => {
  const bytes = deflateSync(idlText('one', 500));
  const cut = run([[create(), write(idlAccount, bytes.subarray(0, 300))]]);
  expect([cut.found, cut.unfinished.map(brief)]).toEqual([
    [],
    [[10, 'anchor', 'its compressed bytes end too early']],
  ]);
  const late = run([[write(idlAccount, bytes.subarray(300))]]);
  expect(String(late.found.map(brief)[0]?.[2])).toContain('before the first slot');
  const external = run([[initialize(settings(0, 1), Buffer.from('https://example.com'))]]);
  expect(external.found.map(brief)).toEqual([
    [10, 'program-metadata', 'it is not stored on the ledger, only its address is'],
  ]);
});

test('behavior: an IDL of a program cannot describe another program', () => {
  const node = (publicKey: string) => ({
    ...{ kind: 'programNode', name: 'mine', publicKey, version: '1.0.0' },
    ...{ accounts: [], instructions: [], definedTypes: [], pdas: [], errors: [] },
  });
  const root = { kind: 'rootNode', standard: 'codama', version: '1.0.0' };
  const both = { ...root, program: node(program), additionalPrograms: [node(other)] };
  const { found } = run([[initialize(settings(0), Buffer.from(JSON.stringify(both)))]]);
  expect(found.map(brief)).toEqual([
    [10, 'program-metadata', JSON.stringify({ ...both, additionalPrograms: [] })],
  ]);
});

test('limit: malformed instructions and writes beyond the largest account change nothing', () => {
  const good = idlText('good');
  const { found } = run([
    [create(), createBuffer(), write(buffer, deflateSync(good))],
    ...Array.from({ length: 14 }, (_, length) => [
      { ...create(), data: anchor(2, []).data.slice(0, length) },
      metadata([home], Buffer.alloc(length, 1)),
      metadata([], Buffer.alloc(length, 0)),
    ]),
    [fill(buffer, 0xffff_fff0, Buffer.from('far')), fill(buffer, 10 << 20, Buffer.from('far'))],
    [setBuffer()],
  ]);
  expect(found).toMatchObject([{ slot: 26, text: good }]);
});
