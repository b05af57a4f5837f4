/** The request of the method `Subscribe` of Yellowstone gRPC: which updates the server sends, or the response to a ping. */
import { BinaryWriter } from './binary-writer.ts';
import { MessageReader } from './message-reader.ts';

export const SUBSCRIBE_PATH = '/geyser.Geyser/Subscribe';

/** The commitments in the order of their numbers. */
const commitments = ['processed', 'confirmed', 'finalized'] as const;
export type GrpcCommitment = (typeof commitments)[number];

export interface SubscribeRequest {
  readonly slots: boolean;
  /** Whole blocks with all transactions, without accounts and entries. */
  readonly blocks: boolean;
  readonly transactions: boolean;
  readonly blockMetas: boolean;
  readonly commitment: GrpcCommitment;
  /** Updates from this slot on are sent again. */
  readonly fromSlot?: number | undefined;
  /** If present, the request only responds to a ping. */
  readonly pingId?: number | undefined;
}

/** The fields of the request, each a map from a name of ours to a filter. */
const maps = { slots: 2, transactions: 3, blocks: 4, blockMetas: 5 } as const;
const filterName = 'sluice';

export function encodeSubscribeRequest(request: SubscribeRequest): Uint8Array {
  const out = new BinaryWriter();
  // An empty filter of transactions selects all: votes and failed ones too.
  const none = new Uint8Array();
  if (request.slots) out.field(maps.slots, encodeEntry(none));
  if (request.transactions) out.field(maps.transactions, encodeEntry(none));
  if (request.blocks) {
    const filter = new BinaryWriter().presentInteger(2, 1).presentInteger(3, 0);
    out.field(maps.blocks, encodeEntry(filter.presentInteger(4, 0).finish()));
  }
  if (request.blockMetas) out.field(maps.blockMetas, encodeEntry(none));
  out.presentInteger(6, commitments.indexOf(request.commitment));
  if (request.fromSlot !== undefined) out.presentInteger(11, request.fromSlot);
  return out.finish();
}

/** Returns the request that responds to a ping of the server. */
export function encodePing(id: number): Uint8Array {
  return new BinaryWriter().field(9, new BinaryWriter().integer(1, id).finish()).finish();
}

function encodeEntry(filter: Uint8Array): Uint8Array {
  return new BinaryWriter().field(1, filterName).field(2, filter).finish();
}

/** Reads a request as a server does. Filters are taken as unlimited. */
export function readSubscribeRequest(bytes: Uint8Array): SubscribeRequest {
  const wanted: Record<string, boolean> = {};
  let commitment: GrpcCommitment = 'processed';
  let fromSlot: number | undefined;
  let pingId: number | undefined;
  const reader = new MessageReader(bytes);
  while (reader.next()) {
    if (reader.isInteger(6)) commitment = commitments[reader.integer()] ?? commitment;
    else if (reader.isInteger(11)) fromSlot = reader.integer();
    else if (reader.isPart(9)) pingId = readPingId(reader.message());
    else {
      for (const [key, field] of Object.entries(maps)) wanted[key] ||= reader.isPart(field);
      reader.skip();
    }
  }
  return {
    slots: wanted['slots'] ?? false,
    blocks: wanted['blocks'] ?? false,
    transactions: wanted['transactions'] ?? false,
    blockMetas: wanted['blockMetas'] ?? false,
    commitment,
    fromSlot,
    pingId,
  };
}

function readPingId(reader: MessageReader): number {
  let id = 0;
  while (reader.next()) {
    if (reader.isInteger(1)) id = reader.integer();
    else reader.skip();
  }
  return id;
}
