import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Address } from '@solana/kit';
import type { AccountState, Ground } from '../scenarios/ground.ts';

const ACCOUNT_OVERHEAD_BYTES = 128n;
const LAMPORTS_PER_BYTE = 6_960n;
/** The total lamports of a ledger are a u64, so no account can hold 2^64 - 1 of them. */
const LAMPORTS_MAX = 2n ** 60n;

/** The accounts and programs of a node's genesis, as files that the node loads. */
export class NodeGenesis implements Ground {
  readonly #folder: string;
  readonly #programs = new Map<Address, string>();
  #isStarted = false;
  #recentSlot = 0n;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(this.#accountFolder, { recursive: true });
  }

  get #accountFolder(): string {
    return join(this.#folder, 'accounts');
  }

  /** Returns the command line arguments for the node. */
  get args(): readonly string[] {
    const programs = [...this.#programs].flatMap((program) => ['--bpf-program', ...program]);
    return ['--account-dir', this.#accountFolder, ...programs];
  }

  /** Called when the node starts. Accounts and programs that scenarios add afterwards must already be part of the genesis. */
  start(recentSlot: bigint): void {
    this.#isStarted = true;
    this.#recentSlot = recentSlot;
  }

  addProgram(address: Address, bytes: Uint8Array): void {
    const path = join(this.#folder, `${address}.so`);
    if (!this.#isStarted) writeFileSync(path, bytes);
    this.#programs.set(address, path);
  }

  setAccount(address: Address, { lamports, owner, data }: AccountState): void {
    if (this.#isStarted) return;
    const held = lamports < LAMPORTS_MAX ? lamports : LAMPORTS_MAX;
    const bytes = Buffer.from(data).toString('base64');
    // Written as text, because `JSON.stringify` has no 64-bit integers.
    const account = `{"lamports":${held},"data":["${bytes}","base64"],"owner":"${owner}","executable":false,"rentEpoch":18446744073709551615,"space":${data.length}}`;
    const path = join(this.#accountFolder, `${address}.json`);
    writeFileSync(path, `{"pubkey":"${address}","account":${account}}`);
  }

  rentOf(dataBytes: number): bigint {
    return (BigInt(dataBytes) + ACCOUNT_OVERHEAD_BYTES) * LAMPORTS_PER_BYTE;
  }

  recentSlot(): bigint {
    return this.#recentSlot;
  }
}
