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
/** A node that has just started or is overloaded loses transactions, so those that are in no block are sent again. */
const RESEND_MS = 2_000;
/** A blockhash is valid for a minute. */
const QUIET_MS_MAX = 60_000;

export interface SentPlans {
  /** Signatures of confirmed transactions by title. */
  readonly landed: ReadonlyMap<string, string>;
  /** Titles of transactions that the node rejected, with the reason, or that were never included in a block. */
  readonly refused: ReadonlyMap<string, string>;
  /** Titles of transactions that are too large. */
  readonly tooLarge: readonly string[];
  readonly lastSlot: bigint;
}

/** Sends transactions, including failing ones, and waits until each is in a confirmed block. */
export async function sendPlans(
  rpc: NodeRpc,
  plans: readonly PlannedTransaction[],
): Promise<SentPlans> {
  const sent = new Map<string, SentTransaction>();
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
      await send(rpc, wire);
      sent.set(plan.title, { wire, signature: getSignatureFromTransaction(transaction) });
    } catch (error) {
      if (!(error instanceof NodeRpcError)) throw error;
      refused.set(plan.title, error.message);
    }
  }
  const slots = await waitUntilLanded(rpc, [...sent.values()]);
  const landed = new Map<string, string>();
  for (const [title, { signature }] of sent) if (slots.has(signature)) landed.set(title, signature);
  for (const title of sent.keys()) if (!landed.has(title)) refused.set(title, 'in no block');
  const lastSlot = [...slots.values()].reduce((max, slot) => (slot > max ? slot : max), 0n);
  return { landed, refused, tooLarge, lastSlot };
}

interface SentTransaction {
  readonly wire: string;
  readonly signature: string;
}

async function send(rpc: NodeRpc, wire: string): Promise<void> {
  await rpc.call('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }]);
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

/** Returns the slots of the confirmed transactions when all are confirmed, or when no more arrive. */
async function waitUntilLanded(
  rpc: NodeRpc,
  sent: readonly SentTransaction[],
): Promise<ReadonlyMap<string, bigint>> {
  const signatures = sent.map(({ signature }) => signature);
  const slots = new Map<string, bigint>();
  let cameMs = performance.now();
  let sentMs = cameMs;
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
    if (performance.now() - sentMs >= RESEND_MS) {
      for (const { wire, signature } of sent) if (!slots.has(signature)) await send(rpc, wire);
      sentMs = performance.now();
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return slots;
}
