/** Token and Token-2022: all shapes of token balances. */
import { type Address, type Instruction, type KeyPairSigner, none, some } from '@solana/kit';
import { getCreateAccountInstruction, getTransferSolInstruction } from '@solana-program/system';
import {
  AuthorityType,
  getCloseAccountInstruction,
  getInitializeAccount3Instruction,
  getInitializeMint2Instruction,
  getMintToInstruction,
  getSetAuthorityInstruction,
  getSyncNativeInstruction,
  getTransferCheckedInstruction,
  getTransferInstruction,
} from '@solana-program/token';
import { type Call, call } from './planned-transaction.ts';
import { COIN, type Scenario, TOKEN, TOKEN_2022, type World } from './world.ts';

const NATIVE_MINT = 'So11111111111111111111111111111111111111112' as Address;
export const TOKEN_BYTES = 165;
const MINT_BYTES = 82;

interface Opening {
  readonly payer: KeyPairSigner;
  readonly account: KeyPairSigner;
  readonly bytes: number;
  readonly program: Address;
}

function open(world: World, { payer, account, bytes, program }: Opening): Call {
  return call(
    getCreateAccountInstruction({
      payer,
      newAccount: account,
      lamports: world.ground.rentOf(bytes),
      space: BigInt(bytes),
      programAddress: program,
    }),
  );
}

/** Token-2022 logs which instruction it runs; the newest build of Token does not. */
export function token2022(name: string, instruction: Instruction): Call {
  return call(instruction, [`Instruction: ${name}`]);
}

export const TOKEN_SCENARIOS: readonly Scenario[] = [
  async (world) => {
    const payer = await world.wallet('mint payer');
    const mint = await world.signer('new mint');
    const account = await world.signer('new token account');
    return {
      title: 'a mint, an account of it and its first tokens',
      payer,
      calls: [
        open(world, { payer, account: mint, bytes: MINT_BYTES, program: TOKEN }),
        call(
          getInitializeMint2Instruction({
            mint: mint.address,
            decimals: 6,
            mintAuthority: payer.address,
          }),
        ),
        open(world, { payer, account, bytes: TOKEN_BYTES, program: TOKEN }),
        call(
          getInitializeAccount3Instruction({
            account: account.address,
            mint: mint.address,
            owner: payer.address,
          }),
        ),
        call(
          getMintToInstruction({
            mint: mint.address,
            token: account.address,
            mintAuthority: payer,
            amount: 2n ** 53n + 1n,
          }),
        ),
      ],
    };
  },
  async (world) => {
    const authority = await world.wallet('transfer payer');
    const mint = await world.mint('transfer mint', { decimals: 9 });
    const owner = authority.address;
    const source = await world.tokenAccount('from', { mint, owner, amount: 2n ** 64n - 1n });
    const destination = await world.tokenAccount('to', { mint, owner: mint });
    const amount = 2n ** 53n + 3n;
    return {
      title: 'transfers of amounts beyond 2^53, the mint named by one of them only',
      payer: authority,
      calls: [
        call(getTransferInstruction({ source, destination, authority, amount })),
        call(
          getTransferCheckedInstruction({
            source,
            mint,
            destination,
            authority,
            amount,
            decimals: 9,
          }),
        ),
      ],
    };
  },
  async (world) => {
    const authority = await world.wallet('mint-less payer');
    const mint = await world.mint('unnamed mint', { decimals: 3 });
    const owner = authority.address;
    const source = await world.tokenAccount('mint-less from', { mint, owner, amount: 10n });
    const destination = await world.tokenAccount('mint-less to', { mint, owner });
    const calls = [call(getTransferInstruction({ source, destination, authority, amount: 4n }))];
    return {
      title: 'a transfer whose keys lack the mint',
      version: 'legacy',
      payer: authority,
      calls,
    };
  },
  async (world) => {
    const authority = await world.wallet('poor payer');
    const mint = await world.mint('poor mint', { decimals: 0 });
    const owner = authority.address;
    const source = await world.tokenAccount('poor from', { mint, owner, amount: 10n });
    const destination = await world.tokenAccount('poor to', { mint, owner });
    const transfer = (amount: bigint): Instruction =>
      getTransferInstruction({ source, destination, authority, amount });
    return {
      title: 'a transfer beyond the funds after a valid one, so that balances do not change',
      payer: authority,
      calls: [
        call(transfer(4n)),
        call(transfer(7n), ['Error: insufficient funds'], { error: 'custom program error: 0x1' }),
      ],
      err: '{"InstructionError":[1,{"Custom":1}]}',
    };
  },
  async (world) => {
    const owner = await world.wallet('closing payer');
    const mint = await world.mint('closing mint', { decimals: 2 });
    const account = await world.tokenAccount('closed account', { mint, owner: owner.address });
    const close = getCloseAccountInstruction({ account, destination: owner.address, owner });
    return {
      title: 'a closed account, with a balance only before',
      payer: owner,
      calls: [call(close)],
    };
  },
  async (world) => {
    const payer = await world.wallet('fleeting payer');
    const mint = await world.mint('fleeting mint', { decimals: 2 });
    const account = await world.signer('fleeting account');
    return {
      title: 'an account that is opened and closed, with no balance before and after',
      payer,
      calls: [
        open(world, { payer, account, bytes: TOKEN_BYTES, program: TOKEN }),
        call(
          getInitializeAccount3Instruction({
            account: account.address,
            mint,
            owner: payer.address,
          }),
        ),
        call(
          getCloseAccountInstruction({
            account: account.address,
            destination: payer.address,
            owner: payer,
          }),
        ),
      ],
    };
  },
  async (world) => {
    const payer = await world.wallet('reopening payer');
    const account = await world.signer('reopened account');
    const { address } = account;
    const owner = payer.address;
    const old = await world.mint('old mint', { decimals: 2 });
    const fresh = await world.mint('fresh mint', {
      decimals: 7,
      program: TOKEN_2022,
      authority: owner,
    });
    await world.tokenAccount('reopened account', { mint: old, owner });
    const at = { programAddress: TOKEN_2022 };
    return {
      title: 'an account that changes mint, decimals, program and amount at once',
      payer,
      calls: [
        call(getCloseAccountInstruction({ account: address, destination: owner, owner: payer })),
        open(world, { payer, account, bytes: TOKEN_BYTES, program: TOKEN_2022 }),
        token2022(
          'InitializeAccount3',
          getInitializeAccount3Instruction({ account: address, mint: fresh, owner: old }, at),
        ),
        token2022(
          'MintTo',
          getMintToInstruction(
            { mint: fresh, token: address, mintAuthority: payer, amount: 5n },
            at,
          ),
        ),
      ],
    };
  },
  async (world) => {
    const owner = await world.wallet('giving payer');
    const heir = await world.signer('heir');
    const mint = await world.mint('given mint', { decimals: 2 });
    const account = await world.tokenAccount('given', { mint, owner: owner.address, amount: 3n });
    const give = getSetAuthorityInstruction({
      owned: account,
      owner,
      authorityType: AuthorityType.AccountOwner,
      newAuthority: some(heir.address),
    });
    return { title: 'an account that changes its owner', payer: owner, calls: [call(give)] };
  },
  async (world) => {
    const payer = await world.wallet('wrapping payer');
    const account = await world.signer('wrapped account');
    world.ground.setAccount(NATIVE_MINT, {
      lamports: COIN,
      owner: TOKEN,
      data: nativeMint(),
    });
    const { address } = account;
    return {
      title: 'native coin, wrapped',
      payer,
      calls: [
        open(world, { payer, account, bytes: TOKEN_BYTES, program: TOKEN }),
        call(
          getInitializeAccount3Instruction({
            account: address,
            mint: NATIVE_MINT,
            owner: payer.address,
          }),
        ),
        call(getTransferSolInstruction({ source: payer, destination: address, amount: 1_234n })),
        call(getSyncNativeInstruction({ account: address })),
      ],
    };
  },
  async (world) => {
    const payer = await world.wallet('tokenless payer');
    const mint = await world.mint('tokenless mint', { decimals: 2 });
    const account = await world.tokenAccount('tokenless', { mint, owner: mint, amount: 3n });
    const gift = getTransferSolInstruction({ source: payer, destination: account, amount: 1n });
    return {
      title: 'lamports sent to a token account without naming a token program',
      payer,
      calls: [call(gift)],
    };
  },
  async (world) => {
    const payer = await world.wallet('token-2022 payer');
    const mint = await world.signer('token-2022 mint');
    const account = await world.signer('token-2022 account');
    const at = { programAddress: TOKEN_2022 };
    const owner = payer.address;
    return {
      title: 'a mint and an account of Token-2022 with the maximum amount',
      payer,
      calls: [
        open(world, { payer, account: mint, bytes: MINT_BYTES, program: TOKEN_2022 }),
        token2022(
          'InitializeMint2',
          getInitializeMint2Instruction(
            { mint: mint.address, decimals: 0, mintAuthority: owner, freezeAuthority: none() },
            at,
          ),
        ),
        open(world, { payer, account, bytes: TOKEN_BYTES, program: TOKEN_2022 }),
        token2022(
          'InitializeAccount3',
          getInitializeAccount3Instruction(
            { account: account.address, mint: mint.address, owner },
            at,
          ),
        ),
        token2022(
          'MintTo',
          getMintToInstruction(
            {
              mint: mint.address,
              token: account.address,
              mintAuthority: payer,
              amount: 2n ** 64n - 1n,
            },
            at,
          ),
        ),
      ],
    };
  },
];

/** No authority, no supply, nine decimals. */
function nativeMint(): Uint8Array {
  const data = new Uint8Array(MINT_BYTES);
  data[44] = 9;
  data[45] = 1;
  return data;
}
