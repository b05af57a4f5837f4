import {
  STEP_ULONG as ULONG, STEP_KEY as KEY, STEP_KEY_OR_NULL as KEY_OR_NULL, KIND_FLAGS, KIND_MARK, KIND_STARTS,
  KIND_STEPS, KIND_STEP_COUNT, STEP_BYTES, STEP_CODE, STEP_P0, STEP_W0, STEP_W1, KEY_TEXT_BYTES,
} from '../../layout/writing';
import { loadInt, loadLong } from './columns';
import { keyStarts, keyTable, keys } from './write-context';

/** At most this many rows of a block are read ahead; the rows of a larger block are close together. 8 bytes each: transaction, row. */
const TOUCHED_MAX: u32 = 256;
const touchedRows = memory.data(2048, 16);
/** The loaded values are combined in this variable, so that the compiler does not remove the loads. */
let touched: u32 = 0;

/**
 * Reads what the selected rows of a block need, field by field, before they are written. The values are spread over the memory: a
 * position leads to a key, the key to its text. Writing record after record would wait for memory each time, while these short loops let
 * the processor load many rows at once.
 */
export function touchRows(kind: usize, marks: usize, transactionFirst: u32, transactionEnd: u32): void {
  const flags: usize = load<u32>(kind, KIND_FLAGS);
  const starts: usize = load<u32>(kind, KIND_STARTS);
  const bit = load<u32>(kind, KIND_MARK);
  if (starts == 0) return;
  const limitAt = touchedRows + (TOUCHED_MAX << 3);
  let at: usize = touchedRows;
  for (let transaction = transactionFirst; transaction < transactionEnd; transaction++) {
    if ((load<u8>(marks + transaction) & bit) == 0) continue;
    const end = load<u32>(starts + (transaction << 2), 4);
    for (let row = load<u32>(starts + (transaction << 2)); row < end; row++) {
      if (load<u8>(flags + row) == 0) continue;
      if (at == limitAt) return;
      store<u32>(at, transaction);
      store<u32>(at, row, 4);
      at += 8;
    }
  }
  const steps: usize = load<u32>(kind, KIND_STEPS);
  const stepEnd = steps + load<u32>(kind, KIND_STEP_COUNT) * STEP_BYTES;
  for (let step = steps; step < stepEnd; step += STEP_BYTES) touchStep(step, at);
}

function touchStep(step: usize, rowsEnd: usize): void {
  const code = load<u32>(step, STEP_CODE);
  const p0: usize = load<u32>(step, STEP_P0);
  const w0 = load<u32>(step, STEP_W0);
  let sum: u32 = 0;
  if (code == ULONG) {
    for (let at: usize = touchedRows; at < rowsEnd; at += 8) sum += <u32>loadLong(p0, w0, load<u32>(at, 4));
  } else if (code == KEY || code == KEY_OR_NULL) {
    const stride = load<u32>(step, STEP_W1);
    const first: u32 = code == KEY ? 0 : 1;
    for (let at: usize = touchedRows; at < rowsEnd; at += 8) {
      const value = loadInt(p0, w0, load<u32>(at, 4) * stride);
      if (value < first) continue;
      const cursor = load<u32>(keyStarts + (load<u32>(at) << 2)) + value - first;
      const text: usize = load<u32>(keyTable + (load<u32>(keys + (cursor << 2)) << 2));
      sum += load<u8>(text) + load<u8>(text, KEY_TEXT_BYTES - 1);
    }
  }
  touched = sum;
}
