/** A JSON-RPC error, with the code and text of real nodes. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export interface FailureDetail {
  readonly slot?: number | undefined;
  readonly firstAvailableSlot?: number;
  readonly version?: number;
  readonly slotsBehind?: number;
}

const texts: Readonly<Record<number, (detail: FailureDetail) => string>> = {
  [-32001]: ({ slot, firstAvailableSlot }) =>
    `Block ${slot} cleaned up, does not exist on node. First available block: ${firstAvailableSlot ?? 0}`,
  [-32004]: ({ slot }) => `Block not available for slot ${slot}`,
  [-32005]: ({ slotsBehind }) =>
    slotsBehind === undefined ? 'Node is unhealthy' : `Node is behind by ${slotsBehind} slots`,
  [-32007]: ({ slot }) =>
    `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`,
  [-32009]: ({ slot }) => `Slot ${slot} was skipped, or missing in long-term storage`,
  [-32011]: () => 'Transaction history is not available from this node',
  [-32014]: ({ slot }) => `Block status not yet available for slot ${slot}`,
  [-32015]: ({ version = 0 }) =>
    `Transaction version (${version}) is not supported by the requesting client. ` +
    `Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  [-32016]: () => 'Minimum context slot has not been reached',
  [-32019]: () => 'Failed to query long-term storage; please try again',
  [-32600]: () => 'Invalid request',
  [-32601]: () => 'Method not found',
  [-32602]: () => 'Invalid params',
  [-32603]: () => 'Internal error',
  [-32700]: () => 'Parse error',
};

export function failure(code: number, detail: FailureDetail = {}, data?: unknown): RpcFailure {
  return new RpcFailure(code, texts[code]?.(detail) ?? 'Server error', data);
}

export function invalidParams(text: string): RpcFailure {
  return new RpcFailure(-32602, `Invalid params: ${text}`);
}
