/** The programs every ledger of this family has, by their real addresses. */
import type { Address } from '../../ledger/primitives.ts';
import { buildDataTemplate } from './base58-text.ts';
import { Bands, Choice } from './distributions.ts';
import {
  buildProgramText,
  type InstructionKind,
  type Program,
  type ProgramRole,
} from './program.ts';

export const WRAPPED_COIN = 'So11111111111111111111111111111111111111112' as Address;
export const TOKEN_2022_ID = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address;
export const SYSVAR_RENT = 'SysvarRent111111111111111111111111111111111' as Address;

const NO_LINES = new Bands([[0, 0, 1]]);

interface KindRow {
  readonly start: readonly number[];
  readonly byteCount: number;
  readonly accounts: number;
  readonly units: number;
  readonly opening?: string;
  readonly remark?: string;
  readonly returns?: string;
  readonly variantCount?: number;
}

function buildKind(row: KindRow): InstructionKind {
  const { start, byteCount, accounts, units } = row;
  return {
    data: buildDataTemplate(start, byteCount),
    variantCount: row.variantCount,
    accountCount: new Bands([[accounts, accounts, 1]]),
    opening: row.opening,
    remark: row.remark,
    returns: row.returns,
    // Native programs cost the same each time; others vary with what they find.
    units: units < 1000 ? new Bands([[units, units, 1]]) : new Bands([[units, units + 90, 1]]),
  };
}

function buildProgram(
  id: string,
  role: ProgramRole,
  rows: readonly (readonly [KindRow | InstructionKind, number])[],
  traits: { readonly isNative: boolean },
): Program {
  const address = id as Address;
  return {
    id: address,
    rank: -1,
    role,
    isNative: traits.isNative,
    kinds: new Choice(
      rows.map(([row, weight]) => ['start' in row ? buildKind(row) : row, weight] as const),
    ),
    event: undefined,
    lineCount: NO_LINES,
    lines: [],
    dataRate: 0,
    returnRate: 0,
    text: buildProgramText(address),
  };
}

const NATIVE = { isNative: true };
const LOADED = { isNative: false };

/** `165` as eight little-endian bytes: the size of a token account. */
const ACCOUNT_SIZE = 'pQAAAAAAAAA=';

export const GET_ACCOUNT_DATA_SIZE: InstructionKind = buildKind({
  start: [0x15, 7, 0],
  byteCount: 3,
  accounts: 1,
  units: 1569,
  opening: 'Instruction: GetAccountDataSize',
  returns: ACCOUNT_SIZE,
});
export const INITIALIZE_IMMUTABLE_OWNER: InstructionKind = buildKind({
  start: [0x16],
  byteCount: 1,
  accounts: 1,
  units: 1405,
  opening: 'Instruction: InitializeImmutableOwner',
  remark: 'Please upgrade to SPL Token 2022 for immutable owner support',
});
export const INITIALIZE_ACCOUNT_3: InstructionKind = buildKind({
  start: [0x12],
  byteCount: 33,
  accounts: 2,
  units: 3158,
  opening: 'Instruction: InitializeAccount3',
});
export const SYNC_NATIVE: InstructionKind = buildKind({
  start: [0x11],
  byteCount: 1,
  accounts: 1,
  units: 3045,
  opening: 'Instruction: SyncNative',
});
export const TOKEN_TRANSFER: InstructionKind = buildKind({
  start: [3],
  byteCount: 9,
  accounts: 3,
  units: 4645,
  opening: 'Instruction: Transfer',
});
export const TOKEN_TRANSFER_CHECKED: InstructionKind = buildKind({
  start: [0x0c],
  byteCount: 10,
  accounts: 4,
  units: 6147,
  opening: 'Instruction: TransferChecked',
});
export const CLOSE_ACCOUNT: InstructionKind = buildKind({
  start: [9],
  byteCount: 1,
  accounts: 3,
  units: 2915,
  opening: 'Instruction: CloseAccount',
});
export const INITIALIZE_ACCOUNT: InstructionKind = buildKind({
  start: [1],
  byteCount: 1,
  accounts: 4,
  units: 3443,
  opening: 'Instruction: InitializeAccount',
});

const TOKEN_ROW: KindRow = { start: [7], byteCount: 9, accounts: 3, units: 4492 };

export const TOKEN: Program = buildProgram(
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'token',
  [
    [TOKEN_TRANSFER, 40],
    [CLOSE_ACCOUNT, 20],
    [TOKEN_TRANSFER_CHECKED, 11],
    [INITIALIZE_ACCOUNT, 10],
    [SYNC_NATIVE, 5],
    [INITIALIZE_ACCOUNT_3, 4],
    [GET_ACCOUNT_DATA_SIZE, 4],
    [INITIALIZE_IMMUTABLE_OWNER, 3],
    [buildKind({ ...TOKEN_ROW, opening: 'Instruction: MintTo' }), 1],
    [buildKind({ ...TOKEN_ROW, start: [8], opening: 'Instruction: Burn' }), 1],
    [buildKind({ ...TOKEN_ROW, start: [4], opening: 'Instruction: Approve' }), 1],
  ],
  LOADED,
);

export const COMPUTE_BUDGET: Program = buildProgram(
  'ComputeBudget111111111111111111111111111111',
  'budget',
  [
    // Wallets and bots use round figures, so the same data comes again and again.
    [{ start: [3], byteCount: 9, accounts: 0, units: 150, variantCount: 2000 }, 1],
    [{ start: [2], byteCount: 5, accounts: 0, units: 150, variantCount: 300 }, 1],
  ],
  NATIVE,
);

export const SYSTEM_TRANSFER: InstructionKind = buildKind({
  start: [2, 0, 0, 0],
  byteCount: 12,
  accounts: 2,
  units: 150,
});
export const SYSTEM_CREATE: InstructionKind = buildKind({
  start: [0, 0, 0, 0],
  byteCount: 52,
  accounts: 2,
  units: 150,
  variantCount: 1200,
});

export const SYSTEM: Program = buildProgram(
  '11111111111111111111111111111111',
  'system',
  [
    [SYSTEM_TRANSFER, 51],
    [
      buildKind({
        start: [3, 0, 0, 0],
        byteCount: 124,
        accounts: 3,
        units: 150,
        variantCount: 4000,
      }),
      23,
    ],
    [SYSTEM_CREATE, 23],
    [buildKind({ start: [8, 0, 0, 0], byteCount: 12, accounts: 1, units: 150 }), 2],
    [buildKind({ start: [1, 0, 0, 0], byteCount: 36, accounts: 1, units: 150 }), 1],
  ],
  NATIVE,
);

export const ASSOCIATED_CREATE: InstructionKind = buildKind({
  start: [],
  byteCount: 0,
  accounts: 6,
  units: 7200,
  opening: 'Create',
  remark: 'Initialize the associated token account',
});

export const ASSOCIATED_TOKEN: Program = buildProgram(
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
  'associated',
  [
    [{ start: [], byteCount: 0, accounts: 6, units: 4338, opening: 'CreateIdempotent' }, 60],
    [{ start: [1], byteCount: 1, accounts: 6, units: 4338, opening: 'CreateIdempotent' }, 40],
  ],
  LOADED,
);

export const VOTE: Program = buildProgram(
  'Vote111111111111111111111111111111111111111',
  'vote',
  [[{ start: [0x0e, 0, 0, 0], byteCount: 148, accounts: 2, units: 2100 }, 1]],
  NATIVE,
);

const SIGNATURE_CHECK: KindRow = { start: [1, 0], byteCount: 112, accounts: 0, units: 0 };

/** Programs that never print a line. */
export const SILENT: readonly Program[] = [
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
].map((id) => buildProgram(id, 'silent', [[SIGNATURE_CHECK, 1]], NATIVE));

/** Programs that may run without a line, in some versions of the node or in all. */
export const WITHOUT_LINES: ReadonlySet<string> = new Set([
  ...SILENT.map((program) => program.id as string),
  COMPUTE_BUDGET.id,
  'AddressLookupTab1e1111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'NativeLoader1111111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
]);
