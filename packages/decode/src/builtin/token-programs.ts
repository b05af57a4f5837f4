/** The token programs. The second one has all instructions of the first one and those of its extensions. */
import type { ProgramDescription } from '../program-description.ts';
import { bytes, integer, sized, text, u8, u32 } from '../program-description.ts';
import { choice, parseProgramTable } from './parse-program-table.ts';

const tokenInstructions = `
00 initializeMint decimals:u8 mintAuthority:publicKey freezeAuthority:option(publicKey) | mint rent
01 initializeAccount | account mint owner rent
02 initializeMultisig m:u8 | multisig rent
03 transfer amount:u64 | source destination authority
04 approve amount:u64 | source delegate owner
05 revoke | source owner
06 setAuthority authorityType:authorityType newAuthority:option(publicKey) | owned owner
07 mintTo amount:u64 | mint token mintAuthority
08 burn amount:u64 | account mint authority
09 closeAccount | account destination owner
0a freezeAccount | account mint owner
0b thawAccount | account mint owner
0c transferChecked amount:u64 decimals:u8 | source mint destination authority
0d approveChecked amount:u64 decimals:u8 | source mint delegate owner
0e mintToChecked amount:u64 decimals:u8 | mint token mintAuthority
0f burnChecked amount:u64 decimals:u8 | account mint authority
10 initializeAccount2 owner:publicKey | account mint rent
11 syncNative | account rent?
12 initializeAccount3 owner:publicKey | account mint
13 initializeMultisig2 m:u8 | multisig
14 initializeMint2 decimals:u8 mintAuthority:publicKey freezeAuthority:option(publicKey) | mint
15 getAccountDataSize | mint
16 initializeImmutableOwner | account
17 amountToUiAmount amount:u64 | mint
18 uiAmountToAmount uiAmount:string | mint
26 withdrawExcessLamports | source destination authority
2d unwrapLamports amount:option(u64) | source destination authority
ff batch data:rest(batchItem)
`;

/** The instructions that only Token-2022 has. */
const extensionInstructions = `
19 initializeMintCloseAuthority closeAuthority:option(publicKey) | mint
1a00 initializeTransferFeeConfig transferFeeConfigAuthority:option(publicKey) withdrawWithheldAuthority:option(publicKey) transferFeeBasisPoints:u16 maximumFee:u64 | mint
1a01 transferCheckedWithFee amount:u64 decimals:u8 fee:u64 | source mint destination authority
1a02 withdrawWithheldTokensFromMint | mint feeReceiver withdrawWithheldAuthority
1a03 withdrawWithheldTokensFromAccounts numTokenAccounts:u8 | mint feeReceiver withdrawWithheldAuthority
1a04 harvestWithheldTokensToMint | mint
1a05 setTransferFee transferFeeBasisPoints:u16 maximumFee:u64 | mint transferFeeConfigAuthority
1b00 initializeConfidentialTransferMint authority:zeroable(publicKey) autoApproveNewAccounts:bool auditorElgamalPubkey:zeroable(publicKey) | mint
1b01 updateConfidentialTransferMint autoApproveNewAccounts:bool auditorElgamalPubkey:zeroable(publicKey) | mint authority
1b02 configureConfidentialTransferAccount decryptableZeroBalance:bytes(36) maximumPendingBalanceCreditCounter:u64 proofInstructionOffset:i8 | token mint instructionsSysvarOrContextState authority
1b03 approveConfidentialTransferAccount | token mint authority
1b04 emptyConfidentialTransferAccount proofInstructionOffset:i8 | token instructionsSysvarOrContextState authority
1b05 confidentialDeposit amount:u64 decimals:u8 | token mint authority
1b06 confidentialWithdraw amount:u64 decimals:u8 newDecryptableAvailableBalance:bytes(36) equalityProofInstructionOffset:i8 rangeProofInstructionOffset:i8 | token mint instructionsSysvar? equalityRecord? rangeRecord? authority
1b07 confidentialTransfer newSourceDecryptableAvailableBalance:bytes(36) transferAmountAuditorCiphertextLo:bytes(64) transferAmountAuditorCiphertextHi:bytes(64) equalityProofInstructionOffset:i8 ciphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8 | sourceToken mint destinationToken instructionsSysvar? equalityRecord? ciphertextValidityRecord? rangeRecord? authority
1b08 applyConfidentialPendingBalance expectedPendingBalanceCreditCounter:u64 newDecryptableAvailableBalance:bytes(36) | token authority
1b09 enableConfidentialCredits | token authority
1b0a disableConfidentialCredits | token authority
1b0b enableNonConfidentialCredits | token authority
1b0c disableNonConfidentialCredits | token authority
1b0d confidentialTransferWithFee newSourceDecryptableAvailableBalance:bytes(36) transferAmountAuditorCiphertextLo:bytes(64) transferAmountAuditorCiphertextHi:bytes(64) equalityProofInstructionOffset:i8 transferAmountCiphertextValidityProofInstructionOffset:i8 feeSigmaProofInstructionOffset:i8 feeCiphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8 | sourceToken mint destinationToken instructionsSysvar? equalityRecord? transferAmountCiphertextValidityRecord? feeSigmaRecord? feeCiphertextValidityRecord? rangeRecord? authority
1b0e configureConfidentialTransferAccountWithRegistry | token mint elgamalRegistry payer? systemProgram?
1c00 initializeDefaultAccountState state:accountState | mint
1c01 updateDefaultAccountState state:accountState | mint freezeAuthority
1d reallocate newExtensionTypes:rest(extensionType) | token payer systemProgram owner
1e00 enableMemoTransfers | token owner
1e01 disableMemoTransfers | token owner
1f createNativeMint | payer nativeMint systemProgram
20 initializeNonTransferableMint | mint
2100 initializeInterestBearingMint rateAuthority:zeroable(publicKey) rate:i16 | mint
2101 updateRateInterestBearingMint rate:i16 | mint rateAuthority
2200 enableCpiGuard | token owner
2201 disableCpiGuard | token owner
23 initializePermanentDelegate delegate:publicKey | mint
2400 initializeTransferHook authority:zeroable(publicKey) programId:zeroable(publicKey) | mint
2401 updateTransferHook programId:zeroable(publicKey) | mint authority
2500 initializeConfidentialTransferFee authority:zeroable(publicKey) withdrawWithheldAuthorityElGamalPubkey:publicKey | mint
2501 withdrawWithheldTokensFromMintForConfidentialTransferFee proofInstructionOffset:i8 newDecryptableAvailableBalance:bytes(36) | mint destination instructionsSysvarOrContextState authority
2502 withdrawWithheldTokensFromAccountsForConfidentialTransferFee numTokenAccounts:u8 proofInstructionOffset:i8 newDecryptableAvailableBalance:bytes(36) | mint destination instructionsSysvarOrContextState authority
2503 harvestWithheldTokensToMintForConfidentialTransferFee | mint
2504 enableHarvestToMint | mint authority
2505 disableHarvestToMint | mint authority
2700 initializeMetadataPointer authority:zeroable(publicKey) metadataAddress:zeroable(publicKey) | mint
2701 updateMetadataPointer metadataAddress:zeroable(publicKey) | mint metadataPointerAuthority
2800 initializeGroupPointer authority:zeroable(publicKey) groupAddress:zeroable(publicKey) | mint
2801 updateGroupPointer groupAddress:zeroable(publicKey) | mint groupPointerAuthority
2900 initializeGroupMemberPointer authority:zeroable(publicKey) memberAddress:zeroable(publicKey) | mint
2901 updateGroupMemberPointer memberAddress:zeroable(publicKey) | mint groupMemberPointerAuthority
2a00 initializeConfidentialMintBurn supplyElgamalPubkey:publicKey decryptableSupply:bytes(36) | mint
2a01 rotateSupplyElgamalPubkey newSupplyElgamalPubkey:publicKey proofInstructionOffset:i8 | mint instructionsSysvarOrContextState authority
2a02 updateConfidentialMintBurnDecryptableSupply newDecryptableSupply:bytes(36) | mint authority
2a03 confidentialMint newDecryptableSupply:bytes(36) mintAmountAuditorCiphertextLo:bytes(64) mintAmountAuditorCiphertextHi:bytes(64) equalityProofInstructionOffset:i8 ciphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8 | token mint instructionsSysvar? equalityRecord? ciphertextValidityRecord? rangeRecord? authority
2a04 confidentialBurn newDecryptableAvailableBalance:bytes(36) burnAmountAuditorCiphertextLo:bytes(64) burnAmountAuditorCiphertextHi:bytes(64) equalityProofInstructionOffset:i8 ciphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8 | token mint instructionsSysvar? equalityRecord? ciphertextValidityRecord? rangeRecord? authority
2a05 applyConfidentialPendingBurn | mint authority
2b00 initializeScaledUiAmountMint authority:zeroable(publicKey) multiplier:f64 | mint
2b01 updateMultiplierScaledUiMint multiplier:f64 effectiveTimestamp:i64 | mint authority
2c00 initializePausableConfig authority:zeroable(publicKey) | mint
2c01 pause | mint authority
2c02 resume | mint authority
2e00 initializePermissionedBurn authority:publicKey | mint
2e01 permissionedBurn amount:u64 | account mint permissionedBurnAuthority authority
2e02 permissionedBurnChecked amount:u64 decimals:u8 | account mint permissionedBurnAuthority authority
2e03 permissionedConfidentialBurn newDecryptableAvailableBalance:bytes(36) burnAmountAuditorCiphertextLo:bytes(64) burnAmountAuditorCiphertextHi:bytes(64) equalityProofInstructionOffset:i8 ciphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8 | token mint instructionsSysvar? equalityRecord? ciphertextValidityRecord? rangeRecord? permissionedBurnAuthority authority
6c25ab8ff81e126e updateTokenGroupMaxSize maxSize:u64 | group updateAuthority
79716c2736330004 initializeTokenGroup updateAuthority:zeroable(publicKey) maxSize:u64 | group mint mintAuthority
9820deb0dfed7486 initializeTokenGroupMember | member memberMint memberMintAuthority group groupUpdateAuthority
a1695801edddd8cb updateTokenGroupUpdateAuthority newUpdateAuthority:zeroable(publicKey) | group updateAuthority
d2e11ea258b84d8d initializeTokenMetadata name:string(u32) symbol:string(u32) uri:string(u32) | metadata updateAuthority mint mintAuthority
d7e4a6e45464567b updateTokenMetadataUpdateAuthority newUpdateAuthority:zeroable(publicKey) | metadata updateAuthority
dde9312db5cadcc8 updateTokenMetadataField field:tokenMetadataField value:string(u32) | metadata updateAuthority
ea122038598d25b5 removeTokenMetadataKey idempotent:bool key:string(u32) | metadata updateAuthority
faa6b4fa0d0cb846 emitTokenMetadata start:option(u64) end:option(u64) | metadata
`;

const types = {
  batchItem: {
    kind: 'struct',
    fields: [
      { name: 'numberOfAccounts', type: u8 },
      { name: 'instructionData', type: sized(u8, bytes) },
    ],
  },
  accountState: choice(u8, 'Uninitialized Initialized Frozen'),
  authorityType: choice(
    u8,
    'MintTokens FreezeAccount AccountOwner CloseAccount TransferFeeConfig WithheldWithdraw CloseMint InterestRate PermanentDelegate ConfidentialTransferMint TransferHookProgramId ConfidentialTransferFeeConfig MetadataPointer GroupPointer GroupMemberPointer ScaledUiAmount Pause PermissionedBurn',
  ),
  extensionType: choice(
    integer(2),
    'Uninitialized TransferFeeConfig TransferFeeAmount MintCloseAuthority ConfidentialTransferMint ConfidentialTransferAccount DefaultAccountState ImmutableOwner MemoTransfer NonTransferable InterestBearingConfig CpiGuard PermanentDelegate NonTransferableAccount TransferHook TransferHookAccount ConfidentialTransferFee ConfidentialTransferFeeAmount MetadataPointer TokenMetadata GroupPointer TokenGroup GroupMemberPointer TokenGroupMember ConfidentialMintBurn ScaledUiAmountConfig PausableConfig PausableAccount PermissionedBurn',
  ),
  tokenMetadataField: {
    kind: 'enum',
    size: u8,
    variants: [
      { name: 'Name', number: 0 },
      { name: 'Symbol', number: 1 },
      { name: 'Uri', number: 2 },
      { name: 'Key', number: 3, type: { kind: 'tuple', items: [sized(u32, text)] } },
    ],
  },
} as const;

export const TOKEN_PROGRAMS: readonly ProgramDescription[] = [
  parseProgramTable({
    address: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    name: 'token',
    instructions: tokenInstructions,
    types,
  }),
  parseProgramTable({
    address: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
    name: 'token-2022',
    instructions: tokenInstructions + extensionInstructions,
    types,
  }),
  parseProgramTable({
    address: 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
    name: 'associated-token-account',
    instructions: `
- createAssociatedToken | payer ata owner mint systemProgram tokenProgram rentSysvar!
00 createAssociatedToken | payer ata owner mint systemProgram tokenProgram rentSysvar!
01 createAssociatedTokenIdempotent | payer ata owner mint systemProgram tokenProgram rentSysvar!
02 recoverNestedAssociatedToken | nestedAssociatedAccountAddress nestedTokenMintAddress destinationAssociatedAccountAddress ownerAssociatedAccountAddress ownerTokenMintAddress walletAddress tokenProgram
`,
  }),
];
