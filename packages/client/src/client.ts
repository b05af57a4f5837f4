/** The public surface of the package. */

export type { DecodedArgument, DecodedValue } from '@sluice/protocol/block-line';
export type { ClosingRecord } from '@sluice/protocol/closing-record';
export type {
  Activity,
  Coverage,
  CoverageRange,
  Estimate,
  EstimateBounds,
  ProgramField,
  ProgramInterface,
  RangeDigest,
  RecordCount,
} from '@sluice/protocol/lookup-results';
export { decodeBase58, encodeBase58, isAddress, parseAddress } from './base/base58.ts';
export type { BlockRef } from './base/block-ref.ts';
export type { ClientEvent, OnEvent } from './base/client-events.ts';
export { anchorDiscriminator, dataPrefix, toHex } from './base/discriminator.ts';
export {
  CLIENT_ERRORS,
  type ClientErrorCode,
  isSluiceError,
  type ServiceReply,
  SluiceError,
} from './base/sluice-error.ts';
export type { ClientOptions } from './client-options.ts';
export {
  type CallOptions,
  type Client,
  createClient,
  listDatasets,
  type Metadata,
  type Status,
} from './create-client.ts';
export {
  type AnchorIdl,
  type EventArgs,
  type InstructionArgs,
  isEvent,
  isInstruction,
} from './idl-types.ts';
export type { AccountTransactions, FullBlock, Lookups } from './lookups.ts';
export { type Cursor, type CursorState, parseCursorState } from './stream/cursor.ts';
export type { Block, Query } from './stream/query-types.ts';
export type {
  Batch,
  BlockStream,
  BlocksBatch,
  RollbackBatch,
  StreamOptions,
} from './stream/stream-types.ts';
