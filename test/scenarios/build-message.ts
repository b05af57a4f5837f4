import {
  appendTransactionMessageInstructions,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  setTransactionMessageConfig,
  type TransactionMessage,
} from '@solana/kit';
import type { PlannedTransaction } from './planned-transaction.ts';

/** The content of a plan, without its payer and its lifetime. */
export function buildMessage(plan: PlannedTransaction): TransactionMessage {
  const instructions = plan.calls.map((call) => call.instruction);
  switch (plan.version) {
    case 'legacy': {
      const message = createTransactionMessage({ version: 'legacy' });
      return appendTransactionMessageInstructions(instructions, message);
    }
    case 1: {
      const message = createTransactionMessage({ version: 1 });
      const configured = setTransactionMessageConfig(plan.config ?? {}, message);
      return appendTransactionMessageInstructions(instructions, configured);
    }
    default: {
      const message = createTransactionMessage({ version: 0 });
      const filled = appendTransactionMessageInstructions(instructions, message);
      return compressTransactionMessageUsingAddressLookupTables(filled, plan.tables ?? {});
    }
  }
}
