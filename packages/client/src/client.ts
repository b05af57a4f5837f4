/** The public surface of the package. */
export type { Activity, Estimate } from '@sluice/protocol/lookup-answers';
export { decodeBase58, encodeBase58, isAddress, parseAddress } from './base58.ts';
export type { BlockRef } from './block-ref.ts';
export type { ClientEvent, OnEvent } from './client-events.ts';
export type { ClientOptions } from './client-options.ts';
export {
  type CallOptions,
  type Client,
  createClient,
  listDatasets,
  type Metadata,
  type Status,
} from './create-client.ts';
export { type Cursor, type CursorState, parseCursorState } from './cursor.ts';
export { anchorDiscriminator, dataPrefix, toHex } from './discriminator.ts';
export type { AccountTransactions, FullBlock, Lookups } from './lookups.ts';
export type { Block, Query } from './query-types.ts';
export {
  CLIENT_ERRORS,
  type ClientErrorCode,
  isSluiceError,
  type ServiceReply,
  SluiceError,
} from './sluice-error.ts';
export type {
  Batch,
  BlockStream,
  BlocksBatch,
  RollbackBatch,
  StreamOptions,
} from './stream-types.ts';
