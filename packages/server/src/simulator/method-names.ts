/** What a node answers over HTTP. */
export const RPC_METHODS = [
  'getBlock',
  'getBlocks',
  'getBlocksWithLimit',
  'getBlockTime',
  'getSlot',
  'getBlockHeight',
  'getFirstAvailableBlock',
  'getLatestBlockhash',
  'getGenesisHash',
  'getHealth',
  'getVersion',
] as const;

export type RpcMethod = (typeof RPC_METHODS)[number];

/** What a WebSocket can subscribe to. */
export const SUBSCRIBE_METHODS = ['slotSubscribe', 'rootSubscribe', 'blockSubscribe'] as const;
