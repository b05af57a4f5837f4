/** Every limit of a simulated node. */
export const NODE_LIMITS = {
  /** The size of a request, on the wire and decoded, as in a real node. */
  bodyBytesMax: 50 * 1024,
  batchItemsMax: 100,
  /** The number of HTTP connections. A stalled node keeps every one of them open. */
  connectionCountMax: 2_000,
  socketCountMax: 1_000,
  subscriptionsPerSocketMax: 100,
  /** The bytes that may wait for the reader of one WebSocket before it is closed. */
  socketBacklogBytesMax: 128 * 1024 * 1024,
  /** The size of the cache of rendered blocks. */
  renderedBytesMax: 128 * 1024 * 1024,
};

export type NodeLimits = Readonly<typeof NODE_LIMITS>;
