/** Associated token accounts: real programs that call others. */
import { AccountRole, type Address, type Instruction, type KeyPairSigner } from '@solana/kit';
import {
  getAllocateInstruction,
  getAssignInstruction,
  getCreateAccountInstruction,
} from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCloseAccountInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getCreateAssociatedTokenInstruction,
  getInitializeAccount3Instruction,
  getInitializeImmutableOwnerInstruction,
  getMintToInstruction,
  getRecoverNestedAssociatedTokenInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token';
import { type Call, call, other } from './planned-transaction.ts';
import { TOKEN_BYTES, token2022 } from './token-scenarios.ts';
import { COIN, type Scenario, SYSTEM, TOKEN, TOKEN_2022, type World } from './world.ts';

/** The four calls with which the associated token program creates an account. */
function associatedCreation(options: {
  readonly instruction: Instruction;
  readonly name: string;
  readonly create: readonly Call[];
  readonly ata: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly program: Address;
  /** The account's size as the token program returns it: a little-endian u64 in base64. */
  readonly size: string;
}): Call {
  const { ata, mint, owner, program } = options;
  const at = { programAddress: program };
  const programCall = (name: string, instruction: Instruction, returned?: string): Call => ({
    ...(program === TOKEN_2022 ? token2022(name, instruction) : call(instruction)),
    ...(returned !== undefined && { returned }),
  });
  const sizeOf: Instruction = {
    programAddress: program,
    accounts: [{ address: mint, role: AccountRole.READONLY }],
    data: Uint8Array.of(21, 7, 0), // GetAccountDataSize with the extension of an immutable owner
  };
  return call(options.instruction, [
    options.name,
    programCall('GetAccountDataSize', sizeOf, options.size),
    ...options.create,
    'Initialize the associated token account',
    programCall(
      'InitializeImmutableOwner',
      getInitializeImmutableOwnerInstruction({ account: ata }, at),
    ),
    programCall(
      'InitializeAccount3',
      getInitializeAccount3Instruction({ account: ata, mint, owner }, at),
    ),
  ]);
}

async function ataOf(owner: Address, mint: Address, tokenProgram: Address): Promise<Address> {
  const [address] = await findAssociatedTokenPda({ owner, mint, tokenProgram });
  return address;
}

/** The nested account creation in the order of the associated token program. */
function systemCreation(
  world: World,
  payer: KeyPairSigner,
  to: { ata: Address; bytes: number; program: Address },
): Call {
  const { accounts: _, ...creation } = getCreateAccountInstruction({
    payer,
    newAccount: payer,
    lamports: world.ground.rentOf(to.bytes),
    space: BigInt(to.bytes),
    programAddress: to.program,
  });
  return call({ ...creation, accounts: writable(payer.address, to.ata) });
}

function writable(...addresses: readonly Address[]): NonNullable<Instruction['accounts']> {
  return addresses.map((address) => ({ address, role: AccountRole.WRITABLE }));
}

export const ASSOCIATED_TOKEN_SCENARIOS: readonly Scenario[] = [
  async (world) => {
    const payer = await world.wallet('associated payer');
    const mint = await world.mint('associated mint', { decimals: 6, authority: payer.address });
    const { address: owner } = await world.signer('associated owner');
    const ata = await ataOf(owner, mint, TOKEN);
    return {
      title: 'an associated account, made by four calls, then used',
      payer,
      calls: [
        associatedCreation({
          instruction: getCreateAssociatedTokenInstruction({ payer, ata, owner, mint }),
          name: 'Create',
          create: [systemCreation(world, payer, { ata, bytes: TOKEN_BYTES, program: TOKEN })],
          ata,
          mint,
          owner,
          program: TOKEN,
          size: 'pQAAAAAAAAA=',
        }),
        call(getMintToInstruction({ mint, token: ata, mintAuthority: payer, amount: 1n })),
        call(getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner, mint }), [
          'CreateIdempotent',
        ]),
      ],
    };
  },
  async (world) => {
    const payer = await world.wallet('prefunded payer');
    const mint = await world.mint('prefunded mint', { decimals: 6 });
    const { address: owner } = await world.signer('prefunded owner');
    const ata = await ataOf(owner, mint, TOKEN);
    world.ground.setAccount(ata, { lamports: COIN, owner: SYSTEM, data: new Uint8Array(0) });
    const { accounts: _allocated, ...allocate } = getAllocateInstruction({
      newAccount: payer,
      space: BigInt(TOKEN_BYTES),
    });
    const { accounts: _assigned, ...assign } = getAssignInstruction({
      account: payer,
      programAddress: TOKEN,
    });
    return {
      title:
        'an associated account at an address that already has lamports, which needs other calls',
      payer,
      calls: [
        associatedCreation({
          instruction: getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner, mint }),
          name: 'CreateIdempotent',
          create: [
            call({ ...allocate, accounts: writable(ata) }),
            call({ ...assign, accounts: writable(ata) }),
          ],
          ata,
          mint,
          owner,
          program: TOKEN,
          size: 'pQAAAAAAAAA=',
        }),
      ],
    };
  },
  async (world) => {
    const payer = await world.wallet('second associated payer');
    const mint = await world.mint('second associated mint', { decimals: 6, program: TOKEN_2022 });
    const { address: owner } = await world.signer('second associated owner');
    const ata = await ataOf(owner, mint, TOKEN_2022);
    const creation = { payer, ata, owner, mint, tokenProgram: TOKEN_2022 };
    return {
      title: 'an associated account of Token-2022, with its extension, made twice',
      payer,
      calls: [
        associatedCreation({
          instruction: getCreateAssociatedTokenInstruction(creation),
          name: 'Create',
          create: [systemCreation(world, payer, { ata, bytes: 170, program: TOKEN_2022 })],
          ata,
          mint,
          owner,
          program: TOKEN_2022,
          size: 'qgAAAAAAAAA=',
        }),
        call(getCreateAssociatedTokenInstruction(creation), ['Create'], {
          error: 'Provided owner is not allowed',
        }),
      ],
      err: '{"InstructionError":[1,"IllegalOwner"]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('broke payer', 1_000_000n);
    const mint = await world.mint('broke mint', { decimals: 6 });
    const { address: owner } = await world.signer('broke owner');
    const ata = await ataOf(owner, mint, TOKEN);
    const creation = systemCreation(world, payer, { ata, bytes: TOKEN_BYTES, program: TOKEN });
    const need = world.ground.rentOf(TOKEN_BYTES);
    const whole = associatedCreation({
      instruction: getCreateAssociatedTokenInstruction({ payer, ata, owner, mint }),
      name: 'Create',
      create: [
        {
          ...creation,
          steps: [other(`Transfer: insufficient lamports ${1_000_000n - 5_000n}, need ${need}`)],
          error: 'custom program error: 0x1',
        },
      ],
      ata,
      mint,
      owner,
      program: TOKEN,
      size: 'pQAAAAAAAAA=',
    });
    return {
      title: 'an associated account that its payer cannot afford: the call and its caller fail',
      payer,
      calls: [{ ...whole, steps: whole.steps.slice(0, 3), error: 'custom program error: 0x1' }],
      err: '{"InstructionError":[0,{"Custom":1}]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('nested payer');
    const wallet = payer.address;
    const program = TOKEN_2022;
    const mint = await world.mint('nested mint', { decimals: 2, program });
    const mine = await ataOf(wallet, mint, program);
    const nested = await ataOf(mine, mint, program);
    world.placeTokenAccount(mine, { mint, owner: wallet, amount: 1n, program });
    world.placeTokenAccount(nested, { mint, owner: mine, amount: 41n, program });
    const recover = getRecoverNestedAssociatedTokenInstruction({
      nestedAssociatedAccountAddress: nested,
      nestedTokenMintAddress: mint,
      destinationAssociatedAccountAddress: mine,
      ownerAssociatedAccountAddress: mine,
      ownerTokenMintAddress: mint,
      walletAddress: payer,
      tokenProgram: program,
    });
    const moved = getTransferCheckedInstruction(
      { source: nested, mint, destination: mine, authority: mine, amount: 41n, decimals: 2 },
      { programAddress: program },
    );
    const closed = getCloseAccountInstruction(
      { account: nested, destination: wallet, owner: mine },
      { programAddress: program },
    );
    return {
      title: 'tokens recovered from an account nested in another',
      payer,
      calls: [
        call(recover, [
          'RecoverNested',
          token2022('TransferChecked', moved),
          token2022('CloseAccount', closed),
        ]),
      ],
    };
  },
];
