import { type Exact, parseExact } from './parse-exact.ts';

export class NodeRpcError extends Error {
  readonly code: bigint;

  constructor(code: bigint, message: string) {
    super(`${code} ${message}`);
    this.code = code;
  }
}

/** Calls a node without using the code under test. */
export class NodeRpc {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async call<Result>(method: string, params: readonly unknown[] = []): Promise<Result> {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const answer = parseExact(await response.text()) as {
      readonly result?: Exact;
      readonly error?: { readonly code: bigint; readonly message: string };
    };
    if (answer.error) throw new NodeRpcError(answer.error.code, answer.error.message);
    return answer.result as Result;
  }

  slot(commitment: 'processed' | 'confirmed' | 'finalized'): Promise<bigint> {
    return this.call('getSlot', [{ commitment }]);
  }

  /** Returns the finalized slots that have a block. */
  listSlots(first: bigint, last: bigint): Promise<readonly bigint[]> {
    return this.call('getBlocks', [Number(first), Number(last), { commitment: 'finalized' }]);
  }
}
