import { ensureMemory, type Kernel, loadKernel } from '../../kernels/load-kernel.ts';
import { voteProgram } from './read-message.ts';

interface VoteExports {
  inputAddress(): number;
  programAddress(): number;
  memoryBytes(): number;
  isVote(length: number): number;
}

/** Votes have 1,000 to 1,500 bytes. As the kernel has it. */
const bytesMax = 2048;

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
    const input = new Uint8Array(memory.buffer, exports.inputAddress(), bytesMax);
    loaded = { kernel, input };
  }
  return loaded;
}

/**
 * Whether these bytes of UTF-8 are the JSON of a vote transaction, told without parsing them. Yes is certain: the bytes are
 * valid JSON, and `isVote` would agree. No means that it has to be parsed to be known.
 */
export function isSurelyVote(bytes: Uint8Array): boolean {
  if (bytes.length > bytesMax) return false;
  const { kernel, input } = load();
  input.set(bytes);
  return kernel.exports.isVote(bytes.length) !== 0;
}
