/**
 * Executes planned transactions in LiteSVM and keeps the state of their accounts before and after each. LiteSVM does not limit the size of a
 * transaction: some that overflow their log are larger than the ledger allows.
 */
import assert from 'node:assert/strict';
import {
  type Address,
  type CompiledTransactionMessage,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  lamports,
  setTransactionMessageFeePayerSigner,
  signTransactionMessageWithSigners,
  type Transaction,
} from '@solana/kit';
import type { FailedTransactionMetadata, LiteSVM, TransactionMetadata } from 'litesvm';
import { buildMessage } from '../scenarios/build-message.ts';
import type { AccountState, Ground } from '../scenarios/ground.ts';
import type { PlannedTransaction } from '../scenarios/planned-transaction.ts';
import { type AccountStates, readTokenHolding } from './account-state.ts';
import type { LiteSvmModule } from './load-litesvm.ts';

const SYSTEM_PROGRAM = '11111111111111111111111111111111' as Address;
const FEE_PER_SIGNATURE = 5_000n;
const SLOT = 500_000_000n;

export interface ExecutedTransaction {
  readonly plan: PlannedTransaction;
  readonly signatures: readonly string[];
  readonly message: CompiledTransactionMessage & { readonly lifetimeToken: string };
  readonly loaded: { readonly writable: readonly Address[]; readonly readonly: readonly Address[] };
  /** Static keys, then loaded ones: the list to which every index refers. */
  readonly keys: readonly Address[];
  readonly fee: bigint;
  readonly result: TransactionMetadata | FailedTransactionMetadata;
  readonly meta: TransactionMetadata;
  /** The log before truncation. */
  readonly wholeLog: readonly string[];
  readonly before: AccountStates;
  readonly after: AccountStates;
}

export class Bank implements Ground {
  readonly #svm: LiteSVM;
  /** Executes the same without a limit on the log, to know which lines a truncated log lacks. */
  readonly #twin: LiteSVM;

  constructor({ LiteSVM, FeatureSet }: LiteSvmModule) {
    // All features are enabled, so that calls can nest nine deep, as announced for the ledger.
    const open = (): LiteSVM =>
      new LiteSVM()
        .withFeatureSet(FeatureSet.allEnabled())
        .withBuiltins()
        .withPrecompiles()
        .withSysvars()
        .withDefaultPrograms();
    this.#svm = open();
    this.#twin = open().withLogBytesLimit();
  }

  addProgram(address: Address, bytes: Uint8Array): void {
    for (const svm of this.#both) svm.addProgram(address, bytes);
  }

  setAccount(address: Address, state: AccountState): void {
    for (const svm of this.#both) {
      svm.setAccount({
        address,
        lamports: lamports(state.lamports),
        data: state.data,
        programAddress: state.owner,
        executable: false,
        space: BigInt(state.data.length),
      });
    }
  }

  rentOf(dataBytes: number): bigint {
    return this.#svm.minimumBalanceForRentExemption(BigInt(dataBytes));
  }

  recentSlot(): bigint {
    for (const svm of this.#both) {
      svm.warpToSlot(SLOT);
      const slotHash = svm.getSlotHashes()[0];
      assert(slotHash !== undefined);
      slotHash.slot = SLOT - 1n;
      slotHash.hash = svm.latestBlockhash();
      svm.setSlotHashes([slotHash]);
    }
    return SLOT - 1n;
  }

  async execute(plan: PlannedTransaction): Promise<ExecutedTransaction> {
    const transaction = await this.#sign(plan);
    const message = getCompiledTransactionMessageDecoder().decode(
      transaction.messageBytes,
    ) as ExecutedTransaction['message'];
    const signatures = Object.values(transaction.signatures).map((bytes) => {
      assert(bytes !== null, 'every signer signed');
      return getBase58Decoder().decode(bytes);
    });
    const loaded = loadAddresses(message, plan);
    const keys = [...message.staticAccounts, ...loaded.writable, ...loaded.readonly];
    const fee = plan.fee ?? FEE_PER_SIGNATURE * BigInt(signatures.length);
    const before = this.#read(keys);
    const twinMeta = metaOf(this.#twin.sendTransaction(transaction));
    const result = this.#svm.sendTransaction(transaction);
    // LiteSVM takes no fee from a transaction that it does not start; the ledger does.
    if (plan.nothingRuns) this.#debit(plan.payer.address, fee);
    const meta = metaOf(result);
    assert.equal(meta.computeUnitsConsumed(), twinMeta.computeUnitsConsumed());
    const after = this.#read(keys);
    const wholeLog = twinMeta.logs();
    return { plan, signatures, message, loaded, keys, fee, result, meta, wholeLog, before, after };
  }

  get #both(): readonly LiteSVM[] {
    return [this.#svm, this.#twin];
  }

  async #sign(plan: PlannedTransaction): Promise<Transaction> {
    const paid = setTransactionMessageFeePayerSigner(plan.payer, buildMessage(plan));
    return await signTransactionMessageWithSigners(
      this.#svm.setTransactionMessageLifetimeUsingLatestBlockhash(paid),
    );
  }

  #debit(address: Address, fee: bigint): void {
    const state = this.#readOne(address);
    this.setAccount(address, { ...state, lamports: state.lamports - fee });
  }

  #read(keys: readonly Address[]): AccountStates {
    const states = new Map(keys.map((key) => [key, this.#readOne(key)]));
    for (const state of [...states.values()]) {
      const holding = readTokenHolding(state);
      if (holding) states.set(holding.mint, this.#readOne(holding.mint));
    }
    return states;
  }

  #readOne(address: Address): AccountState {
    const account = this.#svm.getAccount(address);
    if (!account.exists) return { lamports: 0n, owner: SYSTEM_PROGRAM, data: new Uint8Array(0) };
    return {
      lamports: account.lamports,
      owner: account.programAddress,
      data: Uint8Array.from(account.data),
    };
  }
}

export function isFailed(
  result: TransactionMetadata | FailedTransactionMetadata,
): result is FailedTransactionMetadata {
  return 'err' in result;
}

function metaOf(result: TransactionMetadata | FailedTransactionMetadata): TransactionMetadata {
  return isFailed(result) ? result.meta() : result;
}

function loadAddresses(
  message: CompiledTransactionMessage,
  plan: PlannedTransaction,
): ExecutedTransaction['loaded'] {
  const lookups = ('addressTableLookups' in message && message.addressTableLookups) || [];
  const load = (table: Address, indexes: readonly number[]): Address[] =>
    indexes.map((index) => {
      const address = plan.tables?.[table]?.[index];
      assert(address !== undefined, 'lookups point into a table of the plan');
      return address;
    });
  return {
    writable: lookups.flatMap((one) => load(one.lookupTableAddress, one.writableIndexes)),
    readonly: lookups.flatMap((one) => load(one.lookupTableAddress, one.readonlyIndexes)),
  };
}
