/** Every limit of a simulated node. */
export const NODE_LIMITS = {
  /** Of a request, on the wire and decoded; a real node takes as much. */
  bodyBytesMax: 50 * 1024,
  batchItemsMax: 100,
  /** HTTP connections; a stalled node holds every one of them open. */
  connectionCountMax: 2_000,
  socketCountMax: 1_000,
  subscriptionsPerSocketMax: 100,
  /** Bytes that may wait for one WebSocket's reader before it is closed. */
  socketBacklogBytesMax: 128 * 1024 * 1024,
  /** Rendered blocks in the cache. */
  renderedBytesMax: 128 * 1024 * 1024,
};

export type NodeLimits = Readonly<typeof NODE_LIMITS>;
