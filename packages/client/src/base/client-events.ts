import type { ClosingRecord } from '@sluice/protocol/closing-record';
import type { BlockRef } from './block-ref.ts';
import type { SluiceError } from './sluice-error.ts';

/** The events of a client, for logs and metrics. */
export type ClientEvent =
  /** A request is sent. */
  | { readonly kind: 'request'; readonly url: string; readonly fromBlock?: number }
  /** The status line of its response arrived. */
  | {
      readonly kind: 'response';
      readonly url: string;
      readonly status: number;
      readonly ms: number;
    }
  /** A request failed and will be repeated. */
  | {
      readonly kind: 'retry';
      readonly url: string;
      readonly error: SluiceError;
      /** 1 for the first failure since the last progress. */
      readonly attempt: number;
      readonly waitMs: number;
    }
  /** Another base URL is used from now on. */
  | { readonly kind: 'failover'; readonly from: string; readonly to: string }
  /** A batch of blocks is delivered to the consumer. */
  | {
      readonly kind: 'blocks';
      readonly count: number;
      /** Decoded bytes of the lines. */
      readonly bytes: number;
      readonly tip: BlockRef;
      readonly finalizedHead: BlockRef | null;
    }
  /** A response ended with a closing record, which the stream option `closing` requests. The stream continues with another request if its range is not complete. */
  | ({ readonly kind: 'closing'; readonly url: string } & ClosingRecord)
  /** A fork was found, and a rollback is delivered to the consumer. */
  | { readonly kind: 'rollback'; readonly from: BlockRef | null; readonly to: BlockRef };

export type OnEvent = (event: ClientEvent) => void;
