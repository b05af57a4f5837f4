import { encodeBase58 } from '@sluice/base/base58';
import type { Block } from '@sluice/ledger/block';
import type { Address, BlockHash, Signature, Slot } from '@sluice/ledger/primitives';
import { neutralRecord } from '../../../../ledger/src/testing/stored-fields.ts';

/** Returns an address whose 32 bytes depend on the number. */
export function sampleAddress(number: number): Address {
  const bytes = Uint8Array.from({ length: 32 }, (_, i) => (number * 31 + i * 7) & 0xff);
  bytes[0] = number & 0xff;
  bytes[1] = (number >> 8) & 0xff;
  return encodeBase58(bytes) as Address;
}

/** Returns a small block with values in every column, including extremes. */
export function sampleBlock(slot: number): Block {
  const [payer, program, account, mint] = [1, 2, 3, slot % 7].map((n) => sampleAddress(n + 10));
  const [a, b, c, d] = [payer, program, account, mint] as [Address, Address, Address, Address];
  const signature = encodeBase58(new Uint8Array(64).fill(slot & 0xff)) as Signature;
  return {
    header: {
      number: slot as Slot,
      hash: sampleAddress(1000 + slot) as string as BlockHash,
      parentSlot: Math.max(0, slot - 1) as Slot,
      parentHash: slot === 0 ? null : (sampleAddress(999 + slot) as string as BlockHash),
      height: slot % 2 === 0 ? slot : null,
      timestamp: slot % 3 === 0 ? null : BigInt(slot) - 5n,
    },
    transactions: [
      {
        ...neutralRecord('transaction'),
        transactionIndex: 3,
        version: slot % 2 === 0 ? -1 : 0,
        accountKeys: [a, b],
        addressTableLookups: [{ accountKey: d, readonlyIndexes: [1, 255], writableIndexes: [] }],
        numReadonlySignedAccounts: 0,
        numReadonlyUnsignedAccounts: 1,
        numRequiredSignatures: 1,
        recentBlockhash: sampleAddress(77),
        signatures: [signature],
        err: '{"InstructionError":[0,{"Custom":6001}]}',
        fee: 18_446_744_073_709_551_615n,
        computeUnitsConsumed: null,
        loadedAddresses: { readonly: [c], writable: [] },
        hasDroppedLogMessages: true,
      },
    ],
    instructions: [
      {
        ...neutralRecord('instruction'),
        transactionIndex: 3,
        instructionAddress: [0],
        programId: b,
        accounts: [a, c, c],
        data: encodeBase58(Uint8Array.from([0, 0, 9, slot & 0xff])),
        error: 'custom program error: 0x1771',
        computeUnitsConsumed: 9_007_199_254_740_993n,
        isCommitted: false,
        hasDroppedLogMessages: true,
      },
      {
        ...neutralRecord('instruction'),
        transactionIndex: 3,
        instructionAddress: [0, 0],
        programId: d,
        accounts: [],
        data: '',
        error: null,
        computeUnitsConsumed: null,
        isCommitted: null,
        hasDroppedLogMessages: false,
      },
    ],
    logs: [
      {
        ...neutralRecord('log'),
        transactionIndex: 3,
        logIndex: 4,
        instructionAddress: [0, 0],
        programId: d,
        kind: 'data',
        message: 'line "one"\nline\u2028 \u{1f600} \\ \u0001',
      },
    ],
    balances: [
      {
        ...neutralRecord('balance'),
        transactionIndex: 3,
        account: a,
        pre: 18_446_744_073_709_551_615n,
        post: 0n,
      },
    ],
    tokenBalances: [
      {
        ...neutralRecord('tokenBalance'),
        transactionIndex: 3,
        account: c,
        preMint: null,
        postMint: d,
        preDecimals: null,
        postDecimals: 9,
        preProgramId: null,
        postProgramId: b,
        preOwner: null,
        postOwner: a,
        preAmount: null,
        postAmount: 9_007_199_254_740_993n,
      },
      {
        ...neutralRecord('tokenBalance'),
        transactionIndex: 3,
        account: d,
        preMint: d,
        postMint: d,
        preDecimals: 6,
        postDecimals: 0,
        preProgramId: b,
        postProgramId: c,
        preOwner: a,
        postOwner: null,
        preAmount: 18_446_744_073_709_551_615n,
        postAmount: null,
      },
    ],
    rewards: [
      {
        ...neutralRecord('reward'),
        pubKey: c,
        lamports: -9_223_372_036_854_775_808n,
        postBalance: 18_446_744_073_709_551_615n,
        rewardType: null,
        commission: null,
      },
      {
        ...neutralRecord('reward'),
        pubKey: c,
        lamports: 5n,
        postBalance: 0n,
        rewardType: 'Staking',
        commission: 255,
      },
    ],
  };
}
