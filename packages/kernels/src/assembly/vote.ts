// Recognizes votes by the bytes of their JSON.
import { VOTE_BYTES_MAX } from '../layout/reading';
import { isSurelyVote, voteProgram } from './common/vote';

const input: usize = (__heap_base + 63) & ~63;

export function inputAddress(): usize {
  return input;
}

/** Returns the address at which the caller stores the 43 bytes of the vote program's text, once. */
export function programAddress(): usize {
  return voteProgram;
}

export function memoryBytes(): usize {
  return input + VOTE_BYTES_MAX + 64;
}

/** Returns whether the `length` bytes at the input are certainly a vote. */
export function isVote(length: u32): bool {
  return isSurelyVote(input, length);
}
