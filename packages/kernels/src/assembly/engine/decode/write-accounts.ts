// Writes the accounts of an instruction by name, and those after the named ones.
import {
  ABSENT_OMITTED, ABSENT_PROGRAM, ACCOUNT_ABSENT, ACCOUNT_LABEL, DECODER_ADDRESS, DECODING_ACCOUNT_STARTS, DECODING_INS_ACCOUNTS,
  LAYOUT_ACCOUNTS, LAYOUT_ACCOUNT_COUNT, LAYOUT_IS_PLAIN, LAYOUT_REQUIRED_COUNT,
} from '../../../layout/decoding';
import { KEY_TEXT_BYTES } from '../../../layout/writing';
import { keyStarts, keys } from '../write-context';
import { copyText, keyTextOf, writeKeyId } from '../write-texts';
import { fits } from './run-code';

/** The accounts that were passed: the positions of their keys, their number, and the keys of the transaction. */
let positions: usize = 0;
let passedCount: u32 = 0;
let transactionKeys: usize = 0;

function usePassed(table: usize, transaction: u32, row: u32): void {
  const starts: usize = load<u32>(table, DECODING_ACCOUNT_STARTS) + (row << 2);
  const start = load<u32>(starts);
  positions = <usize>load<u32>(table, DECODING_INS_ACCOUNTS) + (start << 2);
  passedCount = load<u32>(starts, 4) - start;
  transactionKeys = keys + (load<u32>(keyStarts + (transaction << 2)) << 2);
}

// @ts-ignore: decorator
@inline
function passedId(index: u32): u32 {
  return load<u32>(transactionKeys + (load<u32>(positions + (index << 2)) << 2));
}

/** Writes the passed accounts from an index on, with commas between them. */
export function writePassedAccounts(table: usize, transaction: u32, row: u32, from: u32, out: usize): usize {
  usePassed(table, transaction, row);
  return writeRemaining(from, out);
}

function writeRemaining(from: u32, out: usize): usize {
  if (from >= passedCount) return out;
  if (!fits(out, (passedCount - from) * KEY_TEXT_BYTES)) return 0;
  for (let i = from; i < passedCount; i++) {
    out = writeKeyId(passedId(i), out);
    store<u8>(out++, 0x2c);
  }
  return out - 1;
}

/** Writes the accounts by name, the text between them and the remaining ones, and the remaining ones. */
export function writeNamedAccounts(
  table: usize,
  decoder: usize,
  layout: usize,
  transaction: u32,
  row: u32,
  out: usize,
  remainingText: usize,
): usize {
  usePassed(table, transaction, row);
  const isPlain = load<u32>(layout, LAYOUT_IS_PLAIN) != 0;
  out = isPlain ? writePlain(decoder, layout, out) : writeChosen(decoder, layout, out);
  if (out == 0 || !fits(out, 0)) return 0;
  return writeRemaining(isPlain ? load<u32>(layout, LAYOUT_ACCOUNT_COUNT) : nextPassed, copyText(remainingText, 15, out));
}

/** Returns where the text after a text starts. */
// @ts-ignore: decorator
@inline
function afterText(text: usize): usize {
  return text + 4 + ((load<u32>(text) + 3) & ~3);
}

// @ts-ignore: decorator
@inline
function writeNull(out: usize): usize {
  store<u32>(out, 0x6c6c756e);
  return out + 4;
}

/** Writes the accounts of an instruction whose accounts are never left out: the first name belongs to the first account, and so on. */
function writePlain(decoder: usize, layout: usize, out: usize): usize {
  let account = decoder + load<u32>(layout, LAYOUT_ACCOUNTS);
  const count = load<u32>(layout, LAYOUT_ACCOUNT_COUNT);
  for (let i: u32 = 0; i < count; i++) {
    const length = load<u32>(account, ACCOUNT_LABEL);
    if (!fits(out, length)) return 0;
    out = copyText(account + ACCOUNT_LABEL + 4, length, out);
    out = i < passedCount ? writeKeyId(passedId(i), out) : writeNull(out);
    account = afterText(afterText(account + ACCOUNT_LABEL));
  }
  return out;
}

/** The index of the first passed account without a name. */
let nextPassed: u32 = 0;

/**
 * Assigns the passed accounts to the names. Accounts that may be omitted are given in order while there are more than required. This is
 * `chooseAccounts` of the package `decode`.
 */
function writeChosen(decoder: usize, layout: usize, out: usize): usize {
  let account = decoder + load<u32>(layout, LAYOUT_ACCOUNTS);
  const count = load<u32>(layout, LAYOUT_ACCOUNT_COUNT);
  let spare = <i32>(passedCount - load<u32>(layout, LAYOUT_REQUIRED_COUNT)) - countFixed(account, count);
  nextPassed = 0;
  for (let i: u32 = 0; i < count; i++) {
    const length = load<u32>(account, ACCOUNT_LABEL);
    const address = afterText(account + ACCOUNT_LABEL);
    const absent = load<u32>(account, ACCOUNT_ABSENT);
    if (!fits(out, length)) return 0;
    out = copyText(account + ACCOUNT_LABEL + 4, length, out);
    account = afterText(address);
    let isPassed = load<u32>(address) == 0 || (nextPassed < passedCount && hasText(passedId(nextPassed), address));
    if (isPassed && absent == ABSENT_OMITTED) isPassed = spare-- > 0;
    if (!isPassed) {
      out = writeNull(out);
      continue;
    }
    const index = nextPassed++;
    const isAbsent = absent == ABSENT_PROGRAM && index < passedCount && hasText(passedId(index), decoder + load<u32>(decoder, DECODER_ADDRESS));
    out = index < passedCount && !isAbsent ? writeKeyId(passedId(index), out) : writeNull(out);
  }
  return out;
}

/** Returns how many accounts with a constant address were passed. */
function countFixed(account: usize, count: u32): i32 {
  let fixedCount = 0;
  for (let i: u32 = 0; i < count; i++) {
    const address = afterText(account + ACCOUNT_LABEL);
    account = afterText(address);
    if (load<u32>(address) == 0) continue;
    for (let index: u32 = 0; index < passedCount; index++) {
      if (!hasText(passedId(index), address)) continue;
      fixedCount++;
      break;
    }
  }
  return fixedCount;
}

/** Returns whether the base58 text of a key equals a text of the decoder. */
function hasText(id: u32, text: usize): bool {
  const known = keyTextOf(id);
  const length = load<u32>(text);
  return known != 0 && load<u8>(known, KEY_TEXT_BYTES - 1) == length && memory.compare(known, text + 4, length) == 0;
}
