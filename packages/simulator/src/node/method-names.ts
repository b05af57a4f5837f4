/** The methods of a node over HTTP. */
export const RPC_METHODS = [
  'getBlock',
  'getBlocks',
  'getBlockTime',
  'getSlot',
  'getFirstAvailableBlock',
  'getGenesisHash',
  'getHealth',
] as const;

export type RpcMethod = (typeof RPC_METHODS)[number];

/** The only subscription of a WebSocket. */
export const SUBSCRIBE_METHOD = 'slotSubscribe';

/** The method of a gRPC stream, for faults. */
export const GRPC_METHOD = 'Subscribe';
