/** The programs of the ledger itself, whose IDLs need not be registered. */
import { type IdlType, type ProgramDescription, u8, u32 } from '../program-description.ts';
import { choice, parseProgramTable, struct } from './parse-program-table.ts';
import { TOKEN_PROGRAMS } from './token-programs.ts';

const system = parseProgramTable({
  address: '11111111111111111111111111111111',
  name: 'system',
  instructions: `
00000000 createAccount lamports:u64 space:u64 programAddress:publicKey | payer newAccount
01000000 assign programAddress:publicKey | account
02000000 transferSol amount:u64 | source destination
03000000 createAccountWithSeed base:publicKey seed:string(u64) amount:u64 space:u64 programAddress:publicKey | payer newAccount baseAccount?
04000000 advanceNonceAccount | nonceAccount recentBlockhashesSysvar nonceAuthority
05000000 withdrawNonceAccount withdrawAmount:u64 | nonceAccount recipientAccount recentBlockhashesSysvar rentSysvar nonceAuthority
06000000 initializeNonceAccount nonceAuthority:publicKey | nonceAccount recentBlockhashesSysvar rentSysvar
07000000 authorizeNonceAccount newNonceAuthority:publicKey | nonceAccount nonceAuthority
08000000 allocate space:u64 | newAccount
09000000 allocateWithSeed base:publicKey seed:string(u64) space:u64 programAddress:publicKey | newAccount baseAccount
0a000000 assignWithSeed base:publicKey seed:string(u64) programAddress:publicKey | account baseAccount
0b000000 transferSolWithSeed amount:u64 fromSeed:string(u64) fromOwner:publicKey | source baseAccount destination
0c000000 upgradeNonceAccount | nonceAccount
0d000000 createAccountAllowPrefund lamports:u64 space:u64 programAddress:publicKey | newAccount payer?
`,
});

const stake = parseProgramTable({
  address: 'Stake11111111111111111111111111111111111111',
  name: 'stake',
  types: {
    authorized: struct('staker:publicKey withdrawer:publicKey'),
    lockup: struct('unixTimestamp:i64 epoch:u64 custodian:publicKey'),
    stakeAuthorize: choice(u32, 'Staker Withdrawer'),
  },
  instructions: `
00000000 initialize authorized:authorized lockup:lockup | stake rentSysvar!
01000000 authorize newAuthorized:publicKey stakeAuthorize:stakeAuthorize | stake clockSysvar! authority lockupAuthority?
02000000 delegateStake | stake vote clockSysvar! stakeHistory! stakeConfig! stakeAuthority
03000000 split lamports:u64 | stake splitStake stakeAuthority
04000000 withdraw lamports:u64 | stake recipient clockSysvar! stakeHistory! withdrawAuthority lockupAuthority?
05000000 deactivate | stake clockSysvar! stakeAuthority
06000000 setLockup unixTimestamp:option(i64) epoch:option(u64) custodian:option(publicKey) | stake authority
07000000 merge | destinationStake sourceStake clockSysvar! stakeHistory! stakeAuthority
08000000 authorizeWithSeed newAuthorizedPubkey:publicKey stakeAuthorize:stakeAuthorize authoritySeed:string(u64) authorityOwner:publicKey | stake base clockSysvar! lockupAuthority?
09000000 initializeChecked | stake rentSysvar! stakeAuthority withdrawAuthority
0a000000 authorizeChecked stakeAuthorize:stakeAuthorize | stake clockSysvar! authority newAuthority lockupAuthority?
0b000000 authorizeCheckedWithSeed stakeAuthorize:stakeAuthorize authoritySeed:string(u64) authorityOwner:publicKey | stake base clockSysvar! newAuthority lockupAuthority?
0c000000 setLockupChecked unixTimestamp:option(i64) epoch:option(u64) | stake authority newAuthority?
0d000000 getMinimumDelegation
0e000000 deactivateDelinquent | stake delinquentVote referenceVote
0f000000 redelegate | stake uninitializedStake vote stakeConfig! stakeAuthority
10000000 moveStake lamports:u64 | sourceStake destinationStake stakeAuthority
11000000 moveLamports lamports:u64 | sourceStake destinationStake stakeAuthority
`,
});

/** The distance of a slot from the one before it, and how often it was confirmed. */
const lockoutOffset: IdlType = {
  kind: 'struct',
  fields: [
    { name: 'offset', type: { kind: 'shortInteger', bytesMax: 10 } },
    { name: 'confirmationCount', type: u8 },
  ],
};

const vote = parseProgramTable({
  address: 'Vote111111111111111111111111111111111111111',
  name: 'vote',
  types: {
    voteAuthorize: choice(u32, 'Voter Withdrawer'),
    lockout: struct('slot:u64 confirmationCount:u32'),
    lockoutOffsets: {
      kind: 'array',
      count: { prefix: { kind: 'shortInteger', bytesMax: 3 } },
      item: lockoutOffset,
    },
  },
  instructions: `
00000000 initializeAccount nodePubkey:publicKey authorizedVoter:publicKey authorizedWithdrawer:publicKey commission:u8 | vote rentSysvar clockSysvar node
01000000 authorize newAuthority:publicKey voteAuthorize:voteAuthorize | vote clockSysvar authority
02000000 vote slots:list(u64) hash:publicKey timestamp:option(i64) | vote slotHashesSysvar clockSysvar voteAuthority
03000000 withdraw lamports:u64 | vote recipient withdrawAuthority
04000000 updateValidatorIdentity | vote newValidatorIdentity withdrawAuthority
05000000 updateCommission commission:u8 | vote withdrawAuthority
06000000 voteSwitch slots:list(u64) hash:publicKey timestamp:option(i64) proofHash:publicKey | vote slotHashesSysvar clockSysvar voteAuthority
07000000 authorizeChecked voteAuthorize:voteAuthorize | vote clockSysvar authority newAuthority
08000000 updateVoteState lockouts:list(lockout) root:option(u64) hash:publicKey timestamp:option(i64) | vote voteAuthority
09000000 updateVoteStateSwitch lockouts:list(lockout) root:option(u64) hash:publicKey timestamp:option(i64) proofHash:publicKey | vote voteAuthority
0a000000 authorizeWithSeed voteAuthorize:voteAuthorize currentAuthorityDerivedKeyOwner:publicKey currentAuthorityDerivedKeySeed:string(u64) newAuthority:publicKey | vote clockSysvar base
0b000000 authorizeCheckedWithSeed voteAuthorize:voteAuthorize currentAuthorityDerivedKeyOwner:publicKey currentAuthorityDerivedKeySeed:string(u64) | vote clockSysvar base newAuthority
0c000000 compactUpdateVoteState root:u64 lockoutOffsets:lockoutOffsets hash:publicKey timestamp:option(i64) | vote voteAuthority
0d000000 compactUpdateVoteStateSwitch root:u64 lockoutOffsets:lockoutOffsets hash:publicKey timestamp:option(i64) proofHash:publicKey | vote voteAuthority
0e000000 towerSync root:u64 lockoutOffsets:lockoutOffsets hash:publicKey timestamp:option(i64) blockId:publicKey | vote voteAuthority
0f000000 towerSyncSwitch root:u64 lockoutOffsets:lockoutOffsets hash:publicKey timestamp:option(i64) blockId:publicKey proofHash:publicKey | vote voteAuthority
`,
});

const computeBudget = parseProgramTable({
  address: 'ComputeBudget111111111111111111111111111111',
  name: 'compute-budget',
  instructions: `
00 requestUnits units:u32 additionalFee:u32
01 requestHeapFrame bytes:u32
02 setComputeUnitLimit units:u32
03 setComputeUnitPrice microLamports:u64
04 setLoadedAccountsDataSizeLimit accountDataSizeLimit:u32
`,
});

const addressLookupTable = parseProgramTable({
  address: 'AddressLookupTab1e1111111111111111111111111',
  name: 'address-lookup-table',
  instructions: `
00000000 createLookupTable recentSlot:u64 bump:u8 | address authority payer systemProgram
01000000 freezeLookupTable | address authority
02000000 extendLookupTable addresses:list(publicKey) | address authority payer? systemProgram?
03000000 deactivateLookupTable | address authority
04000000 closeLookupTable | address authority recipient
`,
});

/** The two loaders of programs that cannot be upgraded. */
const loaders = [
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
].map((address) =>
  parseProgramTable({
    address,
    name: 'bpf-loader',
    instructions: `
00000000 write offset:u32 bytes:bytes(u64) | account
01000000 finalize | account rentSysvar
`,
  }),
);

const upgradeableLoader = parseProgramTable({
  address: 'BPFLoaderUpgradeab1e11111111111111111111111',
  name: 'bpf-upgradeable-loader',
  instructions: `
00000000 initializeBuffer | sourceAccount bufferAuthority?
01000000 write offset:u32 bytes:bytes(u64) | bufferAccount bufferAuthority
02000000 deployWithMaxDataLen maxDataLen:u64 | payerAccount programDataAccount programAccount bufferAccount rentSysvar clockSysvar systemProgram authority
03000000 upgrade | programDataAccount programAccount bufferAccount spillAccount rentSysvar clockSysvar authority
04000000 setAuthority | bufferOrProgramDataAccount currentAuthority newAuthority?
05000000 close | bufferOrProgramDataAccount destinationAccount authority? programAccount?
06000000 extendProgram additionalBytes:u32 | programDataAccount programAccount systemProgram? payer?
07000000 setAuthorityChecked | bufferOrProgramDataAccount currentAuthority newAuthority
08000000 migrate | programDataAccount programAccount authority
09000000 extendProgramChecked additionalBytes:u32 | programDataAccount programAccount authority systemProgram? payer?
`,
});

const loaderWithRetraction = parseProgramTable({
  address: 'LoaderV411111111111111111111111111111111111',
  name: 'bpf-loader-v4',
  instructions: `
00000000 write offset:u32 bytes:bytes(u64) | program authority
01000000 copy destinationOffset:u32 sourceOffset:u32 length:u32 | program authority source
02000000 setProgramLength newSize:u32 | program authority recipient?
03000000 deploy | program authority source?
04000000 retract | program authority
05000000 transferAuthority | program authority newAuthority
06000000 finalize | program authority nextVersion
`,
});

const memos = [
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
].map((address) =>
  parseProgramTable({ address, name: 'memo', instructions: '- addMemo memo:string' }),
);

export const BUILTIN_PROGRAMS: readonly ProgramDescription[] = [
  system,
  stake,
  vote,
  computeBudget,
  addressLookupTable,
  ...loaders,
  upgradeableLoader,
  loaderWithRetraction,
  ...memos,
  ...TOKEN_PROGRAMS,
];
