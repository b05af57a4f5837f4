/**
 * A subscription to the updates of a node over Yellowstone gRPC, which is opened again whenever it ends.
 *
 *   connect ─► subscribe (from the newest block, if there is one) ─► receive ─► ended by the server, an error, or silence ─┐
 *      ▲                                                                                                                   │
 *      └──────────── wait; ask for less if the server refused a replay, or whole blocks ◄──────────────────────────────────┘
 */
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import { backoffMs } from '@sluice/base/retry';
import { BlockAssembler, type WholeBlock } from '@sluice/grpc/block-assembler';
import { encodeConfirmedBlock } from '@sluice/grpc/confirmed-block';
import { type GrpcCall, GrpcChannel } from '@sluice/grpc/grpc-channel';
import { GRPC_CODES, type GrpcStatus } from '@sluice/grpc/grpc-status';
import { MessageReader } from '@sluice/grpc/message-reader';
import {
  encodePing,
  encodeSubscribeRequest,
  type GrpcCommitment,
  SUBSCRIBE_PATH,
} from '@sluice/grpc/subscribe-request';
import {
  type BlockMeta,
  readSubscribeUpdate,
  type SlotStatus,
  type SubscribeUpdate,
} from '@sluice/grpc/subscribe-update';
import type { BlockHeader } from '@sluice/ledger/block';
import { parseBlockHash, parseSlot } from '@sluice/ledger/primitives';
import { type Refusal, refusal, type SourceResult } from '../refusal.ts';
import { Silence, SlotAnnouncements } from '../slot-announcements.ts';
import { type SlotNotices, unknownHash } from '../source.ts';
import { RecentChain } from './recent-chain.ts';

export interface GrpcSubscriptionOptions {
  /** An address that starts with http:// or https://. */
  readonly url: string;
  /** Sent as `x-token`. */
  readonly token?: string | undefined;
  /** With `processed`, blocks are received earlier, and used once their slot is confirmed. `confirmed` by default. */
  readonly commitment?: Exclude<GrpcCommitment, 'finalized'> | undefined;
  /** Whole blocks, or their transactions and metas. By default whole blocks, unless the server refuses them. */
  readonly subscribe?: SubscribedTo | undefined;
  /** The largest message that is accepted. */
  readonly messageBytesMax?: number | undefined;
}

export type SubscribedTo = 'blocks' | 'transactions';

/** Larger than any block; other clients use 50 MB. */
export const messageBytesMaxDefault = 64 * 1024 * 1024;
/** Servers ping every 10 s. */
const silenceMsMax = 30_000;
const reconnect = { firstMs: 500, maxMs: 30_000 };
/** A subscription is continued this many slots before the newest block, because the last ones may have been sent in part. */
const overlapSlots = 2;
/** How often earlier blocks are requested again. */
const rewindEveryMs = 5_000;
/** A block that has not arrived this long after the start of a replay is not part of it. */
const replayMsMax = 30_000;
/** The status of a call that ends because earlier blocks are needed. */
const rewinding: GrpcStatus = { code: GRPC_CODES.cancelled, message: 'earlier blocks are needed' };

const replayRefusals: ReadonlySet<number> = new Set([
  GRPC_CODES.outOfRange,
  GRPC_CODES.internal,
  GRPC_CODES.invalidArgument,
  GRPC_CODES.unimplemented,
]);
const blockRefusals: ReadonlySet<number> = new Set([
  GRPC_CODES.invalidArgument,
  GRPC_CODES.unimplemented,
]);

/** How one subscription went. */
interface Attempt {
  readonly status: GrpcStatus;
  /** Whether the server sent anything besides pings. */
  readonly hadUpdates: boolean;
  readonly fromSlot: number | undefined;
}

export class GrpcSubscription extends SlotAnnouncements implements SlotNotices {
  readonly #options: GrpcSubscriptionOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #chain = new RecentChain();
  readonly #assembler = new BlockAssembler();
  #subscribe: SubscribedTo;
  #call: GrpcCall | undefined;
  #isLive = false;
  #fault: Refusal | undefined;
  /** The slot from which the next subscription begins; undefined for new updates only. */
  #fromSlot: number | undefined;
  /** The server cannot replay slots below this one. */
  #replayFloor = 0;
  #rewoundMs = Number.NEGATIVE_INFINITY;
  /** The slot from which the current subscription began, and when. */
  #replay: { readonly fromSlot: number | undefined; readonly sinceMs: number } = {
    fromSlot: undefined,
    sinceMs: 0,
  };
  /** The slot below the received blocks that was requested last. */
  #wantedSlot = Number.POSITIVE_INFINITY;
  #announcedHash = '';

  constructor(
    options: GrpcSubscriptionOptions,
    dependencies: { readonly clock: Clock; readonly random: Random },
  ) {
    super(dependencies.clock);
    this.#options = options;
    this.#clock = dependencies.clock;
    this.#random = dependencies.random;
    this.#subscribe = options.subscribe ?? 'blocks';
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** What the subscription is doing, for `/status`. */
  get activity(): string {
    if (!this.#isLive) return this.#fault === undefined ? 'connecting' : 'reconnecting';
    const what = this.#subscribe === 'blocks' ? 'whole blocks' : 'transactions and block metas';
    const { tip, knownFrom } = this.#chain;
    const range = tip === undefined ? 'none yet' : `slots ${knownFrom} to ${tip.number}`;
    const dropped = this.#assembler.incompleteCount;
    const isMissing = this.#wantedSlot < Math.min(knownFrom, this.#replayFloor);
    const faults = [
      ...(dropped === 0 ? [] : [`${dropped} incomplete blocks dropped`]),
      ...(isMissing ? [`cannot replay slot ${this.#wantedSlot}, which needs an RPC source`] : []),
    ];
    return [`receives ${what}, ${range}`, ...faults].join('; ');
  }

  /** Returns the received blocks, or why nothing is received. */
  chain(): SourceResult<RecentChain> {
    if (this.#isLive) return { kind: 'ok', value: this.#chain };
    const fault = this.#fault;
    // Wrong data counts once, although the source is asked several times before it is connected again.
    if (fault?.reason === 'malformed') this.#fault = { ...fault, reason: 'outage' };
    return fault ?? refusal('pending', 'the stream is being opened');
  }

  /** Subscribes again from a slot below the received blocks, if the server can replay it. */
  rewind(slot: number): void {
    this.#wantedSlot = slot;
    if (!this.#isLive || slot < this.#replayFloor) return;
    const nowMs = this.#clock.nowMs();
    const { fromSlot = Number.POSITIVE_INFINITY, sinceMs } = this.#replay;
    if (fromSlot > slot) {
      if (nowMs - this.#rewoundMs < rewindEveryMs) return;
    } else {
      // The block is part of the current replay.
      if (nowMs - sinceMs < replayMsMax) return;
      // The replay did not contain it. Some servers replay transactions and metas, but not whole blocks.
      if (this.#subscribe === 'transactions' || this.#options.subscribe !== undefined) {
        this.#replayFloor = slot + 1;
        return;
      }
      this.#subscribe = 'transactions';
    }
    this.#rewoundMs = nowMs;
    this.#fromSlot = Math.max(0, slot - overlapSlots);
    this.#call?.cancel(rewinding);
  }

  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const attempt = await this.#receiveAll(signal);
      if (signal.aborted) return;
      failures = attempt.hadUpdates ? 0 : failures + 1;
      if (attempt.status === rewinding) continue;
      const { tip } = this.#chain;
      const resumeAt = tip === undefined ? undefined : Math.max(0, tip.number - overlapSlots);
      this.#fromSlot =
        resumeAt !== undefined && resumeAt < this.#replayFloor ? undefined : resumeAt;
      if (this.#askForLess(attempt)) continue;
      this.#fault ??= this.#refusalOf(attempt.status);
      await this.#clock.sleep(backoffMs(failures + 1, reconnect, this.#random), signal);
    }
  }

  /** Changes the request if the server refused it. Returns whether it can be tried again at once. */
  #askForLess({ status, hadUpdates, fromSlot }: Attempt): boolean {
    if (hadUpdates) return false;
    if (fromSlot !== undefined && replayRefusals.has(status.code)) {
      const available = Number(/available:?\s*(\d{1,15})/i.exec(status.message)?.[1] ?? Number.NaN);
      const isLater = available > fromSlot;
      this.#replayFloor = isLater ? available : Number.POSITIVE_INFINITY;
      this.#fromSlot = isLater ? available : undefined;
      return true;
    }
    const canChange = this.#subscribe === 'blocks' && this.#options.subscribe === undefined;
    if (!canChange || !blockRefusals.has(status.code)) return false;
    this.#subscribe = 'transactions';
    return true;
  }

  /** Receives updates until the subscription ends. */
  async #receiveAll(signal: AbortSignal): Promise<Attempt> {
    const { url, token, messageBytesMax = messageBytesMaxDefault } = this.#options;
    const channel = new GrpcChannel(url);
    const silence = new Silence(silenceMsMax, this.#clock);
    const fromSlot = this.#fromSlot;
    this.#replay = { fromSlot, sinceMs: this.#clock.nowMs() };
    const call = channel.open({
      path: SUBSCRIBE_PATH,
      metadata: token === undefined ? {} : { 'x-token': token },
      messageBytesMax,
      onMessage: (message) => {
        silence.break();
        this.#receive(message, call);
      },
    });
    this.#call = call;
    call.send(encodeSubscribeRequest({ ...this.#request(), fromSlot }));
    const stop = new AbortController();
    const onAbort = () => stop.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const message = `nothing was received for ${silenceMsMax / 1000} s`;
    const watching = silence
      .wait(stop.signal)
      .then(() => call.cancel({ code: GRPC_CODES.deadlineExceeded, message }));
    const status = await call.ended;
    onAbort();
    signal.removeEventListener('abort', onAbort);
    await watching;
    channel.close();
    const hadUpdates = this.#isLive;
    this.#isLive = false;
    this.#call = undefined;
    return { status, hadUpdates, fromSlot };
  }

  #request() {
    const isWhole = this.#subscribe === 'blocks';
    const commitment = this.#options.commitment ?? 'confirmed';
    return {
      slots: true,
      blocks: isWhole,
      transactions: !isWhole,
      blockMetas: !isWhole,
      commitment,
    };
  }

  #receive(message: Uint8Array, call: GrpcCall): void {
    try {
      const update = readSubscribeUpdate(message);
      if (update.kind === 'ping') call.send(encodePing(1));
      else if (update.kind !== 'pong') this.#take(update);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      this.#fault = refusal('malformed', error.message);
      call.cancel({ code: GRPC_CODES.internal, message: error.message });
    }
  }

  #take(update: SubscribeUpdate): void {
    if (!this.#isLive) this.#fault = undefined;
    this.#isLive = true;
    if (update.kind === 'slot') this.#takeStatus(update.slot, update.status);
    const whole = this.#assembler.add(update);
    if (whole !== undefined) this.#takeBlock(whole);
    const { tip } = this.#chain;
    if (tip === undefined || tip.hash === this.#announcedHash) return;
    this.#announcedHash = tip.hash;
    this.announce(tip.number);
  }

  #takeStatus(slot: number, status: SlotStatus | undefined): void {
    const isFinal = status === 'finalized';
    // With `confirmed`, a block is sent only once it is confirmed.
    if (this.#options.commitment === 'processed' && (isFinal || status === 'confirmed')) {
      this.#chain.confirm(slot);
    }
    if (isFinal) this.#chain.finalize(slot);
    if (status !== 'dead') return;
    this.#assembler.drop(slot);
    this.#chain.abandon(slot);
  }

  #takeBlock({ meta, transactions }: WholeBlock): void {
    const header = toHeader(meta);
    if (header === undefined) {
      this.#fault = refusal('malformed', `the block at slot ${meta.slot} has an invalid header`);
      this.#call?.cancel({ code: GRPC_CODES.internal, message: this.#fault.cause });
      return;
    }
    // Shared memory is neither copied nor transferred when a thread reads the block.
    const bytes = encodeConfirmedBlock(meta, transactions, (byteLength) => {
      return new Uint8Array(new SharedArrayBuffer(byteLength));
    });
    this.#chain.add({ header, bytes }, this.#options.commitment !== 'processed');
  }

  /** The text of a server is kept, because it says what to do, but without the token. */
  #refusalOf({ code, message }: GrpcStatus): Refusal {
    const { token } = this.#options;
    const text = token === undefined ? message : message.replaceAll(token, '…');
    const isKey = code === GRPC_CODES.unauthenticated || code === GRPC_CODES.permissionDenied;
    return refusal(isKey ? 'key' : 'outage', `gRPC status ${code}: ${text}`);
  }
}

function toHeader(meta: BlockMeta): BlockHeader | undefined {
  const number = parseSlot(meta.slot);
  const parentSlot = parseSlot(meta.parentSlot);
  const hash = parseBlockHash(meta.blockhash);
  if (number === undefined || parentSlot === undefined || hash === undefined) return undefined;
  if (number === 0 ? parentSlot !== 0 : parentSlot >= number) return undefined;
  const isParentKnown = number > 0 && meta.parentBlockhash !== unknownHash;
  const parentHash = isParentKnown ? parseBlockHash(meta.parentBlockhash) : null;
  if (parentHash === undefined) return undefined;
  const height = meta.blockHeight === undefined ? null : readHeight(meta.blockHeight);
  return { number, hash, parentSlot, parentHash, height, timestamp: null };
}

function readHeight(bytes: Uint8Array): number {
  const reader = new MessageReader(bytes);
  let height = 0;
  while (reader.next()) {
    if (reader.isInteger(1)) height = reader.integer();
    else reader.skip();
  }
  return height;
}
