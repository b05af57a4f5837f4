/** Every bound of a simulated node, in one place. */
export interface NodeLimits {
  /** A request on the wire and decoded; a real node takes as much. */
  readonly bodyBytesMax: number;
  readonly batchItemsMax: number;
  /** HTTP connections; a stalled node holds every one of them open. */
  readonly connectionCountMax: number;
  readonly socketCountMax: number;
  readonly subscriptionsPerSocketMax: number;
  /** Bytes that may wait for one WebSocket's reader before it is closed. */
  readonly socketBacklogBytesMax: number;
  /** Rendered blocks kept for the next client that asks. */
  readonly renderedBytesMax: number;
}

export const NODE_LIMITS: NodeLimits = {
  bodyBytesMax: 50 * 1024,
  batchItemsMax: 100,
  connectionCountMax: 2_000,
  socketCountMax: 1_000,
  subscriptionsPerSocketMax: 100,
  socketBacklogBytesMax: 128 * 1024 * 1024,
  renderedBytesMax: 128 * 1024 * 1024,
};
