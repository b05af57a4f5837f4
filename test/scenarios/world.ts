/** The accounts of a ledger: wallets, mints, token accounts and lookup tables that are created without transactions. */
import { createHash } from 'node:crypto';
import {
  type Address,
  createKeyPairSignerFromPrivateKeyBytes,
  getAddressEncoder,
  type KeyPairSigner,
} from '@solana/kit';
import { AccountState, getMintEncoder, getTokenEncoder } from '@solana-program/token';
import type { Ground } from './ground.ts';
import type { PlannedTransaction } from './planned-transaction.ts';
import { buildRelayProgram } from './relay-program.ts';

export const SYSTEM = '11111111111111111111111111111111' as Address;
export const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111' as Address;
export const LOOKUP_TABLES = 'AddressLookupTab1e1111111111111111111111111' as Address;
export const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address;
export const MEMO_1 = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo' as Address;
export const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as Address;
export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address;

export const COIN = 1_000_000_000n;
const LAST_U64 = 2n ** 64n - 1n;

/** Creates the accounts that a transaction needs, then plans it. */
export type Scenario = (world: World) => Promise<PlannedTransaction>;

export class World {
  readonly ground: Ground;
  /** Two programs with the same code (`relay-program.ts`). */
  readonly relays: readonly [Address, Address];

  readonly #prefix: string;

  private constructor(ground: Ground, relays: readonly [Address, Address], prefix: string) {
    this.ground = ground;
    this.relays = relays;
    this.#prefix = prefix;
  }

  /** Worlds with another prefix have other accounts, so that one bank can hold several. */
  static async open(ground: Ground, prefix = ''): Promise<World> {
    const first = (await signerOf('relay one')).address;
    const second = (await signerOf('relay two')).address;
    for (const address of [first, second]) ground.addProgram(address, buildRelayProgram());
    return new World(ground, [first, second], prefix);
  }

  /** Returns the key pair for a name. The same name always gives the same key pair. */
  signer(name: string): Promise<KeyPairSigner> {
    return signerOf(this.#prefix + name);
  }

  async wallet(name: string, lamports = COIN): Promise<KeyPairSigner> {
    const signer = await this.signer(name);
    this.ground.setAccount(signer.address, { lamports, owner: SYSTEM, data: new Uint8Array(0) });
    return signer;
  }

  async mint(name: string, options: MintOptions): Promise<Address> {
    const { address } = await this.signer(name);
    const data = getMintEncoder().encode({
      mintAuthority: options.authority ?? null,
      supply: options.supply ?? 0n,
      decimals: options.decimals,
      isInitialized: true,
      freezeAuthority: null,
    });
    this.#place(address, options.program ?? TOKEN, data as Uint8Array);
    return address;
  }

  async tokenAccount(name: string, options: TokenAccountOptions): Promise<Address> {
    const { address } = await this.signer(name);
    this.placeTokenAccount(address, options);
    return address;
  }

  placeTokenAccount(address: Address, options: TokenAccountOptions): void {
    const data = getTokenEncoder().encode({
      mint: options.mint,
      owner: options.owner,
      amount: options.amount ?? 0n,
      delegate: null,
      state: AccountState.Initialized,
      isNative: null,
      delegatedAmount: 0n,
      closeAuthority: null,
    });
    this.#place(address, options.program ?? TOKEN, data as Uint8Array);
  }

  /** Creates a table: 56 bytes `kind u32, deactivated at u64, extended at u64, from index u8, authority, padding`, then keys. */
  async lookupTable(name: string, addresses: readonly Address[]): Promise<Address> {
    const { address } = await this.signer(name);
    const head = Buffer.alloc(56);
    head.writeUInt32LE(1, 0);
    head.writeBigUInt64LE(LAST_U64, 4);
    const keys = addresses.map((key) => getAddressEncoder().encode(key) as Uint8Array);
    this.#place(address, LOOKUP_TABLES, Buffer.concat([head, ...keys]));
    return address;
  }

  #place(address: Address, owner: Address, data: Uint8Array): void {
    this.ground.setAccount(address, { lamports: this.ground.rentOf(data.length), owner, data });
  }
}

interface MintOptions {
  readonly decimals: number;
  readonly authority?: Address;
  readonly supply?: bigint;
  readonly program?: Address;
}

interface TokenAccountOptions {
  readonly mint: Address;
  readonly owner: Address;
  readonly amount?: bigint;
  readonly program?: Address;
}

function signerOf(name: string): Promise<KeyPairSigner> {
  return createKeyPairSignerFromPrivateKeyBytes(createHash('sha256').update(name).digest());
}
