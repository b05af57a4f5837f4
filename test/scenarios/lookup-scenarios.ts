/** Lookup tables: created by their program, and used by transactions of version 0. */
import {
  AccountRole,
  type Address,
  getAddressEncoder,
  getProgramDerivedAddress,
  type Instruction,
} from '@solana/kit';
import { getAddMemoInstruction } from '@solana-program/memo';
import { getTransferSolInstruction } from '@solana-program/system';
import { getTransferCheckedInstruction } from '@solana-program/token';
import { call } from './planned-transaction.ts';
import { encodeRelayScript } from './relay-program.ts';
import { LOOKUP_TABLES, MEMO, type Scenario, SYSTEM, TOKEN } from './world.ts';

const HEAD_BYTES = 56;

export const LOOKUP_SCENARIOS: readonly Scenario[] = [
  async (world) => {
    const payer = await world.wallet('table payer');
    const { address: authority } = payer;
    const recentSlot = world.ground.recentSlot();
    const { address: entry } = await world.signer('table entry');
    const seeds = [getAddressEncoder().encode(authority), u64(recentSlot)];
    const [table, bump] = await getProgramDerivedAddress({ programAddress: LOOKUP_TABLES, seeds });
    const accounts = [
      { address: table, role: AccountRole.WRITABLE },
      { address: authority, role: AccountRole.READONLY },
      { address: authority, role: AccountRole.WRITABLE_SIGNER, signer: payer },
      { address: SYSTEM, role: AccountRole.READONLY },
    ];
    const tableInstruction = (data: Uint8Array): Instruction => ({
      programAddress: LOOKUP_TABLES,
      accounts,
      data,
    });
    const system = (operation: number, to: readonly Address[], data: Uint8Array) =>
      call({
        programAddress: SYSTEM,
        accounts: to.map((address) => ({ address, role: AccountRole.WRITABLE })),
        data: Buffer.concat([u32(operation), data]),
      });
    const empty = world.ground.rentOf(HEAD_BYTES);
    const extended = world.ground.rentOf(HEAD_BYTES + 32);
    return {
      title: 'a lookup table made and extended by its program, through calls',
      payer,
      calls: [
        call(tableInstruction(Buffer.concat([u32(0), u64(recentSlot), Uint8Array.of(bump)])), [
          'Instruction: CreateLookupTable',
          system(2, [authority, table], u64(empty)),
          system(8, [table], u64(BigInt(HEAD_BYTES))),
          system(1, [table], key(LOOKUP_TABLES)),
        ]),
        call(tableInstruction(Buffer.concat([u32(2), u64(1n), key(entry)])), [
          'Instruction: ExtendLookupTable',
          system(2, [authority, table], u64(extended - empty)),
        ]),
      ],
    };
  },
  async (world) => {
    const authority = await world.wallet('lookup payer');
    const to = await world.wallet('looked-up wallet');
    const mint = await world.mint('looked-up mint', { decimals: 4 });
    const owner = authority.address;
    const source = await world.tokenAccount('looked-up from', { mint, owner, amount: 2n ** 60n });
    const destination = await world.tokenAccount('looked-up to', { mint, owner: to.address });
    const [relay] = world.relays;
    const { address: unused } = await world.signer('unused entry');
    const first = [unused, MEMO, destination, mint];
    const second = [to.address, unused, source];
    const text = 'by a program that was looked up';
    const memo = getAddMemoInstruction({ memo: text }, { programAddress: MEMO });
    const script = encodeRelayScript([
      { do: 'call', program: MEMO, accounts: [], data: Buffer.from(text) },
    ]);
    return {
      title: 'accounts and a program from two lookup tables, writable and readonly',
      payer: authority,
      tables: {
        [await world.lookupTable('first table', first)]: first,
        [await world.lookupTable('second table', second)]: second,
      },
      calls: [
        call(
          getTransferSolInstruction({ source: authority, destination: to.address, amount: 11n }),
        ),
        call(
          getTransferCheckedInstruction({
            source,
            mint,
            destination,
            authority,
            amount: 2n ** 59n,
            decimals: 4,
          }),
        ),
        call(
          {
            programAddress: relay,
            accounts: [
              { address: MEMO, role: AccountRole.READONLY },
              { address: mint, role: AccountRole.READONLY },
              { address: source, role: AccountRole.WRITABLE },
              { address: TOKEN, role: AccountRole.READONLY },
              { address: MEMO, role: AccountRole.READONLY },
            ],
            data: script,
          },
          [call(memo, [`Memo (len ${text.length})`, text])],
        ),
      ],
    };
  },
  async (world) => {
    const payer = await world.wallet('readonly lookup payer');
    const { address } = await world.signer('looked-up readonly');
    const [relay] = world.relays;
    return {
      title: 'a lookup of readonly accounts only',
      payer,
      tables: { [await world.lookupTable('readonly table', [address])]: [address] },
      calls: [
        call({
          programAddress: relay,
          accounts: [{ address, role: AccountRole.READONLY }],
          data: encodeRelayScript([]),
        }),
      ],
    };
  },
];

function u32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

function key(address: Address): Uint8Array {
  return getAddressEncoder().encode(address) as Uint8Array;
}
