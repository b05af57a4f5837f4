/** Answers a POST of a query with a stream of lines, or of Arrow record batches. */

import type { OutgoingHttpHeader } from 'node:http';
import { END_OF_STREAM } from '@sluice/arrow/ipc-messages';
import { unreachable } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { runInTimeSlices } from '@sluice/base/time-slices';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import type { ClosingRecord, StreamEnd } from '@sluice/protocol/closing-record';
import type { Dialect } from '@sluice/protocol/dialect';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { AddressSets } from '../../query/address-set.ts';
import { parseQuerySteps } from '../../query/parse-query.ts';
import type { Query } from '../../query/query.ts';
import { LinePiece } from '../../stream/line-piece.ts';
import type { LineStream } from '../../stream/line-stream.ts';
import type { OpenedStream, StreamHeads } from '../../stream/open-stream.ts';
import { type ByteMeter, HeldBytes } from '../byte-meter.ts';
import type { HttpLimits } from '../http-limits.ts';
import type { EndReason, HttpMetrics } from '../metrics/http-metrics.ts';
import { type Encoding, negotiateEncoding } from '../negotiate-encoding.ts';
import { readBody } from '../read-body.ts';
import type { CheckedRequest } from '../request-checks.ts';
import { refuseUnread } from '../routes/refuse-unread.ts';
import { describeSets } from '../routes/response-route.ts';
import { createLineEncoder, type LineEncoder } from './line-encoder.ts';
import { applyOutput, type OutputForm, parseOutput } from './output-form.ts';
import { ResponseWriter, type WriteOutcome, waitForTurn } from './response-writer.ts';
import type { StallWatch } from './stall-watch.ts';
import type { StreamPermit, StreamPermits } from './stream-permits.ts';

/** Those of the ledger's own programs. */
const builtinIdls = new IdlRegistry();

export interface StreamRouteDependencies {
  readonly limits: HttpLimits;
  readonly queryLimits: QueryLimits;
  readonly idls?: (() => IdlRegistry) | undefined;
  readonly sets?: AddressSets | undefined;
  readonly clock: Clock;
  readonly permits: StreamPermits;
  /** Bytes that wait for slow clients. A stream holds at most the piece that it sends and the next one. */
  readonly unsent: ByteMeter;
  /** Bytes of queries, each counted from the first byte of its body to the end of its stream. */
  readonly queries: ByteMeter;
  readonly stallWatch: StallWatch;
  readonly metrics: HttpMetrics;
  readonly log: Logger;
}

export interface StreamRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly checked: CheckedRequest;
  readonly finalizedOnly: boolean;
}

/** Resolves when the response has started. Waiting for the end of each stream would cost memory per follower. */
export async function respondWithStream(
  stream: StreamRequest,
  dependencies: StreamRouteDependencies,
): Promise<void> {
  const held = new HeldBytes(dependencies.queries);
  let leave = () => held.release();
  try {
    const begun = await begin(stream, held, dependencies);
    // The client disconnected before the response started.
    if (begun === null) return void stream.reply.hijack();
    const { sender, opened, permit } = begun;
    leave = () => {
      permit.leave();
      held.release();
    };
    if (opened.kind !== 'lines') return await sender.sendOther(opened);
    sender.sendLines(opened, leave);
    leave = () => undefined;
  } finally {
    leave();
  }
}

interface BegunStream {
  readonly sender: StreamSender;
  readonly opened: OpenedStream;
  readonly permit: StreamPermit;
}

/** A function of its own, so that a response that lasts for minutes keeps neither the body nor the query in memory. */
async function begin(
  { request, reply, checked, finalizedOnly }: StreamRequest,
  held: HeldBytes,
  dependencies: StreamRouteDependencies,
): Promise<BegunStream | null> {
  const startMs = dependencies.clock.nowMs();
  const { dataset, key } = checked;
  if (dataset === null) throw new CodedError('dataset-unknown');
  const body = await readBody(request.raw, { ...dependencies.queryLimits, held });
  if (body === null) return null;
  const idls = dependencies.idls?.() ?? builtinIdls;
  const rules = {
    limits: dependencies.queryLimits,
    dialects: dataset.names.dialects,
    idls,
    ...(dependencies.sets === undefined ? {} : { sets: dependencies.sets }),
  };
  const output = parseOutput(request.headers.accept, Object(request.query));
  const parsed = await runInTimeSlices(parseQuerySteps(body, rules));
  const { query, form } = applyOutput(parsed, output, idls);
  // Earlier responses on this connection may take minutes, so nothing is reserved before they end.
  await waitForTurn(reply.raw, request.raw.socket);
  if (request.raw.socket.destroyed) return null;
  const permit = dependencies.permits.take(key);
  reply.raw.once('close', permit.leave);
  const encoding = negotiateEncoding(request.headers['accept-encoding']);
  try {
    const { signal } = permit;
    const isDeflated = encoding === 'gzip';
    const opened = await dataset.served.streams.open({ query, finalizedOnly, signal, isDeflated });
    const { dialect, fromBlock } = query;
    reply.headers(describeSets(parsed));
    const sender = new StreamSender(
      { reply, query: { dialect, fromBlock }, form, permit, encoding, startMs },
      dependencies,
    );
    if (!reply.raw.destroyed) return { sender, opened, permit };
    if (opened.kind === 'lines') await opened.lines.close();
    permit.leave();
    return null;
  } catch (error) {
    permit.leave();
    const about = { dataset: dataset.names.name, requestId: request.id, key: key?.name };
    throw refuseUnread(error, dependencies.log.child(about));
  }
}

const HEADER_PREFIXES: Readonly<Record<Dialect, string>> = { ledger: 'x-ledger', solana: 'x-sqd' };

interface OpenRequest {
  readonly reply: FastifyReply;
  readonly query: Pick<Query, 'dialect' | 'fromBlock'>;
  readonly form: OutputForm;
  readonly permit: StreamPermit;
  readonly encoding: Encoding;
  readonly startMs: number;
}

/** The parts between a stream and its client. */
interface Pump {
  readonly lines: LineStream;
  readonly encoder: LineEncoder;
  readonly writer: ResponseWriter;
  next: ReturnType<LineStream['next']>;
}

/** Sends the response to a query. */
class StreamSender {
  readonly #reply: FastifyReply;
  readonly #query: OpenRequest['query'];
  readonly #form: OutputForm;
  readonly #permit: StreamPermit;
  readonly #encoding: Encoding;
  readonly #dependencies: StreamRouteDependencies;
  readonly #labels: { readonly encoding: Encoding };
  /** When the request arrived; `undefined` after its first line was sent. */
  #startMs: number | undefined;
  /** Whether everything was sent and the pump waits for the next piece. */
  #isWaiting = false;
  /** A piece that was sent during that wait and that the operating system has not accepted yet. */
  #offered: Promise<WriteOutcome> | undefined;

  constructor(
    { reply, query, form, permit, encoding, startMs }: OpenRequest,
    dependencies: StreamRouteDependencies,
  ) {
    this.#startMs = startMs;
    this.#reply = reply;
    this.#query = query;
    this.#form = form;
    this.#permit = permit;
    this.#encoding = encoding;
    this.#dependencies = dependencies;
    this.#labels = { encoding };
  }

  async sendOther(opened: Exclude<OpenedStream, { kind: 'lines' }>): Promise<void> {
    switch (opened.kind) {
      case 'empty':
        this.#writeHeads(opened.heads);
        return this.#sendEmpty(opened.closing);
      case 'above-data':
        this.#writeHeads(opened.heads);
        return void this.#reply.code(204).send();
      case 'conflict':
        return void this.#reply.code(409).send({ previousBlocks: opened.previousBlocks });
      case 'below-start':
        throw new CodedError('range-unavailable', {
          path: 'fromBlock',
          found: this.#query.fromBlock,
          allowed: `${opened.startBlock} or more`,
        });
      case 'starting':
        throw new CodedError('dataset-starting');
      case 'closing':
        throw new CodedError('service-closing');
      default:
        return unreachable(opened);
    }
  }

  /** Starts a response of lines. Calls `onEnd` when it has ended. */
  sendLines({ heads, lines }: Extract<OpenedStream, { kind: 'lines' }>, onEnd: () => void): void {
    this.#writeHeads(heads);
    this.#writeStart();
    const encoder = createLineEncoder(this.#encoding);
    const writer = new ResponseWriter(this.#reply.raw, this.#dependencies.stallWatch);
    lines.sendTo({ offer: (piece) => this.#offer(piece, encoder, writer) });
    void this.#pump({ lines, encoder, writer, next: lines.next() }).then((reason) => {
      this.#dependencies.metrics.streamEnds.inc({ reason });
      onEnd();
    });
  }

  #writeStart(): void {
    const reply = this.#reply;
    const { raw } = reply.hijack();
    reply.header('content-type', this.#form.contentType).header('vary', this.#vary());
    if (this.#encoding !== 'identity') reply.header('content-encoding', this.#encoding);
    // Asks proxies not to buffer, because that would delay new blocks.
    reply.header('x-accel-buffering', 'no');
    // Passed as a list, because the response keeps headers that are set one by one in memory until it ends.
    const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
    raw.writeHead(200, headers.flat() as OutgoingHttpHeader[]);
    raw.flushHeaders();
  }

  /** Writes the heads of the state that the response started with. The finalized head has both headers or neither. */
  #writeHeads({ head, finalized }: StreamHeads): void {
    const { dialect } = this.#query;
    const prefix = HEADER_PREFIXES[dialect];
    if (dialect === 'solana') this.#reply.header('x-sqd-data-source', 'real_time');
    if (head !== null) this.#reply.header(`${prefix}-head-number`, String(head.number));
    if (finalized === null) return;
    this.#reply.header(`${prefix}-finalized-head-number`, String(finalized.number));
    this.#reply.header(`${prefix}-finalized-head-hash`, finalized.hash);
  }

  #vary(): string {
    const known = this.#reply.getHeader('vary');
    const names = this.#form.isArrow ? 'Accept, Accept-Encoding' : 'Accept-Encoding';
    return known === undefined ? names : `${String(known)}, ${names}`;
  }

  async #sendEmpty(closing: ClosingRecord): Promise<void> {
    const { clock, limits } = this.#dependencies;
    const { signal } = this.#permit;
    if (this.#query.dialect === 'solana') await clock.sleep(limits.emptyHoldMs, signal);
    this.#reply.header('content-type', this.#form.contentType).header('vary', this.#vary());
    const { start, isArrow, writeClosing } = this.#form;
    // Bytes, because the framework would add a charset to a text.
    const body = Buffer.concat([
      start ?? noBytes,
      writeClosing?.(closing) ?? noBytes,
      isArrow ? END_OF_STREAM : noBytes,
    ]);
    this.#reply.code(200).send(body);
  }

  /** Sends all pieces. After the status was sent there are no error responses, only early ends, which are counted by reason. */
  async #pump(pump: Pump): Promise<EndReason> {
    try {
      const { start } = this.#form;
      if (start !== undefined) await this.#deliver(await this.#encode(start, pump), pump.writer);
      for (;;) {
        const end = await this.#pumpNext(pump);
        if (end !== undefined) return end;
      }
    } catch (error) {
      const { log } = this.#dependencies;
      log.error({ err: error, requestId: this.#reply.request.id }, 'a stream failed');
      this.#reply.raw.destroy();
      return 'bug';
    } finally {
      pump.next.then(
        ({ done, value }) => done === true || value.release(),
        () => undefined,
      );
      // Not awaited: the signal of the permit ends a wait in the stream.
      pump.lines.close().catch(() => undefined);
    }
  }

  /**
   * Waits for a piece and sends it. Returns why the stream ended if it was the last. A loop over the pieces would keep the
   * previous piece in memory while a follower waits for the next.
   */
  async #pumpNext(pump: Pump): Promise<EndReason | undefined> {
    const { lines, encoder, writer } = pump;
    this.#isWaiting = true;
    const result = await pump.next;
    this.#isWaiting = false;
    const offered = await this.#offered;
    if (offered !== undefined && offered !== 'written') return offered;
    if (result.done === true) return this.#finish(pump, result.value);
    // The next piece is produced while this one is compressed and sent.
    pump.next = lines.next();
    const piece = result.value;
    const encoded = encoder.encode(piece);
    const parts = encoded instanceof Promise ? await encoded : encoded;
    const delivered = this.#deliver(parts, writer, releaseWhenSent(piece));
    const outcome = delivered instanceof Promise ? await delivered : delivered;
    return outcome === 'written' ? undefined : outcome;
  }

  /** A stream of record batches has an end marker. Without it a reader knows that rows are missing, so a fault breaks the connection. */
  async #finish({ lines, encoder, writer }: Pump, end: StreamEnd): Promise<EndReason> {
    const { isArrow, writeClosing } = this.#form;
    if (isArrow && end === 'fault') {
      this.#reply.raw.destroy();
      return end;
    }
    const last = Buffer.concat([
      writeClosing?.(lines.closingRecord(end)) ?? noBytes,
      isArrow ? END_OF_STREAM : noBytes,
    ]);
    const marker = last.length > 0 ? await this.#encode(last, { encoder }) : [];
    const outcome = await writer.end(Buffer.concat([...marker, await encoder.end()]));
    return outcome === 'written' ? end : outcome;
  }

  async #encode(
    bytes: Uint8Array,
    { encoder }: Pick<Pump, 'encoder'>,
  ): Promise<readonly Uint8Array[]> {
    return encoder.encode(new LinePiece(bytes));
  }

  /** Sends a piece while the pump waits for the next one. Returns false if the pump must send it. */
  #offer(piece: LinePiece, encoder: LineEncoder, writer: ResponseWriter): boolean {
    if (!this.#isWaiting || this.#offered !== undefined || !encoder.isReady(piece)) return false;
    const parts = encoder.encode(piece);
    if (parts instanceof Promise) return false;
    const delivered = this.#deliver(parts, writer);
    if (delivered === 'written') return true;
    this.#offered = Promise.resolve(delivered);
    this.#offered.then(
      (outcome) => {
        if (outcome === 'written') this.#offered = undefined;
      },
      () => undefined,
    );
    return true;
  }

  /** Sends within the rate limit of the key and the speed of the client. Returns without a promise if neither delays it. */
  #deliver(
    parts: readonly Uint8Array[],
    writer: ResponseWriter,
    onSent?: () => void,
  ): WriteOutcome | Promise<WriteOutcome> {
    if (this.#startMs !== undefined) this.#observeFirstLine(this.#startMs);
    const byteLength = parts.reduce((sum, { length }) => sum + length, 0);
    this.#dependencies.metrics.streamBytes.inc(this.#labels, byteLength);
    const paced = this.#permit.pace(byteLength);
    const write = () => writer.write(parts, onSent);
    const outcome = paced === undefined ? write() : paced.then(write);
    return outcome instanceof Promise ? this.#meterWaiting(outcome, byteLength) : outcome;
  }

  #observeFirstLine(startMs: number): void {
    const { clock, metrics } = this.#dependencies;
    this.#startMs = undefined;
    metrics.firstLineSeconds.observe((clock.nowMs() - startMs) / 1000);
  }

  /** Counts the bytes that wait for the client, whose total is limited. */
  async #meterWaiting(delivered: Promise<WriteOutcome>, byteLength: number): Promise<WriteOutcome> {
    const { unsent } = this.#dependencies;
    unsent.add(byteLength);
    try {
      return await delivered;
    } finally {
      unsent.remove(byteLength);
    }
  }
}

/** Returns the function that releases reusable memory after it was sent. */
function releaseWhenSent(piece: LinePiece): (() => void) | undefined {
  return piece.isReusable ? () => piece.release() : undefined;
}

const noBytes = new Uint8Array(0);
