import {
  type Blockhash,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  isTransactionWithinSizeLimit,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { buildMessage } from '../scenarios/build-message.ts';
import type { PlannedTransaction } from '../scenarios/planned-transaction.ts';
import { type NodeRpc, NodeRpcError } from './node-rpc.ts';

const POLL_MS = 200;
/** A node sends again every two seconds what did not get into a block. */
const QUIET_MS_MAX = 15_000;

export interface SentPlans {
  /** Signatures of what is confirmed, by title. */
  readonly landed: ReadonlyMap<string, string>;
  /** Titles of what the node did not take, with its reason, or what never came into a block. */
  readonly refused: ReadonlyMap<string, string>;
  /** Titles of what is larger than a ledger takes. */
  readonly tooLarge: readonly string[];
  readonly lastSlot: bigint;
}

/** Sends real transactions, failing ones too, and waits until each is in a confirmed block. */
export async function sendPlans(
  rpc: NodeRpc,
  plans: readonly PlannedTransaction[],
): Promise<SentPlans> {
  const sent = new Map<string, string>();
  const refused = new Map<string, string>();
  const tooLarge: string[] = [];
  for (const plan of plans) {
    const transaction = await sign(rpc, plan);
    if (!isTransactionWithinSizeLimit(transaction)) {
      tooLarge.push(plan.title);
      continue;
    }
    const wire = getBase64EncodedWireTransaction(transaction);
    try {
      await rpc.call('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }]);
      sent.set(plan.title, getSignatureFromTransaction(transaction));
    } catch (error) {
      if (!(error instanceof NodeRpcError)) throw error;
      refused.set(plan.title, error.message);
    }
  }
  const slots = await waitUntilLanded(rpc, [...sent.values()]);
  const landed = new Map([...sent].filter(([, signature]) => slots.has(signature)));
  for (const title of sent.keys()) if (!landed.has(title)) refused.set(title, 'in no block');
  const lastSlot = [...slots.values()].reduce((max, slot) => (slot > max ? slot : max), 0n);
  return { landed, refused, tooLarge, lastSlot };
}

async function sign(rpc: NodeRpc, plan: PlannedTransaction) {
  const { value } = await rpc.call<{
    readonly value: { readonly blockhash: Blockhash; readonly lastValidBlockHeight: bigint };
  }>('getLatestBlockhash', [{ commitment: 'confirmed' }]);
  const paid = setTransactionMessageFeePayerSigner(plan.payer, buildMessage(plan));
  return await signTransactionMessageWithSigners(
    setTransactionMessageLifetimeUsingBlockhash(value, paid),
  );
}

interface SignatureStatus {
  readonly slot: bigint;
  readonly confirmationStatus: string;
}

/** The slots of those that are in a confirmed block, once all are or none has come for a while. */
async function waitUntilLanded(
  rpc: NodeRpc,
  signatures: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const slots = new Map<string, bigint>();
  let cameMs = performance.now();
  while (slots.size < signatures.length && performance.now() - cameMs < QUIET_MS_MAX) {
    const { value } = await rpc.call<{ readonly value: readonly (SignatureStatus | null)[] }>(
      'getSignatureStatuses',
      [signatures],
    );
    for (const [i, signature] of signatures.entries()) {
      const status = value[i];
      if (!status || status.confirmationStatus === 'processed' || slots.has(signature)) continue;
      slots.set(signature, status.slot);
      cameMs = performance.now();
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return slots;
}
