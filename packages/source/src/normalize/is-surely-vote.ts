import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import { VOTE_BYTES_MAX } from '@sluice/kernels/layout/reading';
import { loadKernel } from '@sluice/kernels/load-kernel';
import { voteProgram } from './read-message.ts';

interface VoteExports {
  inputAddress(): number;
  programAddress(): number;
  memoryBytes(): number;
  isVote(length: number): number;
}

interface VoteKernel {
  readonly kernel: Kernel<VoteExports>;
  readonly input: Uint8Array;
}

let loaded: VoteKernel | undefined;

function load(): VoteKernel {
  if (loaded === undefined) {
    const kernel = loadKernel<VoteExports>('vote');
    const { memory, exports } = kernel;
    ensureMemory(memory, exports.memoryBytes());
    new Uint8Array(memory.buffer, exports.programAddress()).set(Buffer.from(voteProgram, 'latin1'));
    const input = new Uint8Array(memory.buffer, exports.inputAddress(), VOTE_BYTES_MAX);
    loaded = { kernel, input };
  }
  return loaded;
}

/**
 * Returns true if these UTF-8 bytes are certainly the valid JSON of a vote transaction, without parsing them. After false the
 * transaction must be parsed to find out.
 */
export function isSurelyVote(bytes: Uint8Array): boolean {
  if (bytes.length > VOTE_BYTES_MAX) return false;
  const { kernel, input } = load();
  input.set(bytes);
  return kernel.exports.isVote(bytes.length) !== 0;
}
