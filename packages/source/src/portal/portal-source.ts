/** Another Sluice as a source: blocks come over its stream. They are validated like the blocks of a node. */

import type { BlockHeader } from '@sluice/ledger/block';
import { parseBlockHash, parseSlot, type Slot } from '@sluice/ledger/primitives';
import { hasMembers, memberOf } from '@sluice/protocol/unknown-value';
import { type Refusal, refusal, type SourceResult } from '../refusal.ts';
import type {
  BlockStream,
  Commitment,
  FollowPosition,
  OfferedSegment,
  SlotRange,
  Source,
  SourceFeed,
  SourceIdentity,
  StreamedBlock,
} from '../source.ts';
import { buildBlockQuery, buildHeaderQuery } from './line-query.ts';
import {
  PortalClient,
  type PortalClientDependencies,
  type PortalLines,
  type PortalResponse,
} from './portal-client.ts';
import { lineBytesMax } from './read-line-block.ts';
import { findSegment, readOfferedSegment } from './segment-list.ts';

export interface PortalSourceOptions {
  readonly kind: 'portal';
  readonly name: string;
  /** The address of a dataset: `http://HOST/datasets/NAME`. */
  readonly url: string;
  readonly key?: string | undefined;
}

export class PortalSource implements Source {
  readonly name: string;
  readonly format = 'line';
  readonly isRateLimited = false;
  readonly #client: PortalClient;

  constructor({ name, url, key }: PortalSourceOptions, dependencies: PortalClientDependencies) {
    this.name = name;
    this.#client = new PortalClient({ url, key, lineBytesMax }, dependencies);
  }

  identity(signal: AbortSignal): Promise<SourceResult<SourceIdentity>> {
    return this.#read('/status', signal, parseIdentity);
  }

  async slot(commitment: Commitment, signal: AbortSignal): Promise<SourceResult<Slot>> {
    const path = commitment === 'finalized' ? '/finalized-head' : '/head';
    const result = await this.#read(path, signal, (value) =>
      value === null ? null : parseSlot(memberOf(value, 'number')),
    );
    if (result.kind === 'refused') return result;
    if (result.value === null) return refusal('not-available', 'the portal has no block yet');
    return { kind: 'ok', value: result.value };
  }

  firstAvailable(signal: AbortSignal): Promise<SourceResult<Slot>> {
    return this.#read('/metadata', signal, (value) => parseSlot(memberOf(value, 'start_block')));
  }

  async listSlots(
    range: SlotRange,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<Slot[]>> {
    const headers = await this.readHeaders(range, commitment, signal);
    if (headers.kind === 'refused') return headers;
    return { kind: 'ok', value: headers.value.map(({ number }) => number) };
  }

  async readHeaders(
    range: SlotRange,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockHeader[]>> {
    const query = buildHeaderQuery({ fromBlock: range.first, toBlock: range.last });
    const opened = await this.#client.open(pathOf(commitment), query, signal);
    if (opened.kind === 'above') return { kind: 'ok', value: [] };
    if (opened.kind !== 'lines') return asRefusal(opened);
    const { lines } = opened;
    // The portal would wait for blocks above its head, so the loop ends at the head.
    const head = commitment === 'finalized' ? (lines.finalized?.number ?? null) : lines.head;
    const last = Math.min(range.last, head ?? range.last);
    const headers: BlockHeader[] = [];
    for await (const line of lines) {
      const header = parseLineHeader(line);
      const above = headers.at(-1)?.number ?? range.first - 1;
      if (header === undefined || header.number <= above)
        return refusal('malformed', 'a line is not a header in the range');
      headers.push(header);
      if (header.number >= last) break;
    }
    return lines.fault ?? { kind: 'ok', value: headers };
  }

  async readBlocks(
    { first, last }: SlotRange,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockStream>> {
    const query = buildBlockQuery({ fromBlock: first, toBlock: last });
    const opened = await this.#client.open(pathOf(commitment), query, signal);
    if (opened.kind === 'lines') return { kind: 'ok', value: new PortalBlocks(opened.lines) };
    if (opened.kind === 'above')
      return refusal('not-available', 'the slots are above the head of the portal');
    return asRefusal(opened);
  }

  async header(
    slot: Slot,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockHeader>> {
    const query = buildHeaderQuery({ fromBlock: slot, toBlock: slot });
    const line = await this.#readLine(commitment, query, signal);
    if (line.kind === 'refused') return line;
    const header = parseLineHeader(line.value);
    return header?.number === slot
      ? { kind: 'ok', value: header }
      : refusal('malformed', 'the line is not the header of the slot');
  }

  block(
    slot: Slot,
    commitment: Commitment,
    { signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<SourceResult<Uint8Array>> {
    const query = buildBlockQuery({ fromBlock: slot, toBlock: slot });
    return this.#readLine(commitment, query, signal);
  }

  async follow({ from, parentHash }: FollowPosition, signal: AbortSignal): Promise<SourceFeed> {
    const parent = parentHash === null ? {} : { parentBlockHash: parentHash };
    const query = buildBlockQuery({ fromBlock: from, ...parent });
    const opened = await this.#client.open('/stream', query, signal);
    return opened.kind === 'lines'
      ? { kind: 'blocks', blocks: new PortalBlocks(opened.lines) }
      : opened;
  }

  findSegment(slot: Slot, signal: AbortSignal): Promise<SourceResult<OfferedSegment | undefined>> {
    return findSegment(this.#client, slot, signal);
  }

  readSegment(segment: OfferedSegment, signal: AbortSignal): Promise<SourceResult<Uint8Array[]>> {
    return readOfferedSegment(this.#client, segment, signal);
  }

  giveBack(): void {
    // The buffer of a line is not reused; it is garbage-collected.
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #read<Value>(
    path: string,
    signal: AbortSignal,
    parse: (value: unknown) => Value | undefined,
  ): Promise<SourceResult<Value>> {
    const result = await this.#client.read(path, signal);
    if (result.kind === 'refused') return result;
    const value = parse(result.value);
    if (value === undefined) return refusal('malformed', `the response of ${path} is invalid`);
    return { kind: 'ok', value };
  }

  /** Returns the line of a query for one slot. */
  async #readLine(
    commitment: Commitment,
    query: string,
    signal: AbortSignal,
  ): Promise<SourceResult<Uint8Array>> {
    const opened = await this.#client.open(pathOf(commitment), query, signal);
    if (opened.kind === 'above')
      return refusal('not-available', 'the slot is above the head of the portal');
    if (opened.kind !== 'lines') return asRefusal(opened);
    const { lines } = opened;
    const first = await lines.next();
    await lines.return();
    if (first.done !== true) return { kind: 'ok', value: first.value };
    return lines.fault ?? refusal('skipped-hint', 'the portal has no block at the slot');
  }
}

function pathOf(commitment: Commitment): string {
  return commitment === 'finalized' ? '/finalized-stream' : '/stream';
}

function asRefusal(feed: Exclude<PortalResponse, { kind: 'lines' | 'above' }>): Refusal {
  if (feed.kind === 'refused') return feed;
  return refusal('malformed', 'the portal reported a conflict although no parent was sent');
}

const lineStart = /^\{"header":\{"number":(\d{1,16})[,}]/;

/** The lines of a stream as blocks. */
class PortalBlocks implements BlockStream, AsyncIterator<StreamedBlock> {
  readonly #lines: PortalLines;

  constructor(lines: PortalLines) {
    this.#lines = lines;
  }

  get finalized(): BlockStream['finalized'] {
    return this.#lines.finalized;
  }

  get fault(): Refusal | undefined {
    return this.#lines.fault;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<StreamedBlock>> {
    const line = await this.#lines.next();
    if (line.done === true) return { done: true, value: undefined };
    return { value: { slot: slotOfLine(line.value), bytes: line.value } };
  }

  /** Ends the stream even while `next` waits for a line, which a generator could not do. */
  async return(): Promise<IteratorResult<StreamedBlock>> {
    await this.close();
    return { done: true, value: undefined };
  }

  async close(): Promise<void> {
    await this.#lines.return();
  }
}

/** Returns the slot in the header of a line, without parsing the line. */
function slotOfLine(line: Uint8Array): Slot | undefined {
  const found = lineStart.exec(Buffer.from(line.subarray(0, 64)).toString('latin1'));
  return found === null ? undefined : parseSlot(Number(found[1]));
}

const kinds: ReadonlySet<unknown> = new Set(['logs', 'rewards', 'meta']);

function parseIdentity(value: unknown): SourceIdentity | undefined {
  const { genesis_hash, votes, allow_missing } = hasMembers(value) ? value : {};
  const genesisHash = genesis_hash === null ? null : parseBlockHash(genesis_hash);
  if (genesisHash === undefined) return undefined;
  if (votes !== 'drop' && votes !== 'keep') return undefined;
  if (!Array.isArray(allow_missing) || !allow_missing.every((kind) => kinds.has(kind))) {
    return undefined;
  }
  const allowMissing: readonly string[] = allow_missing;
  return { genesisHash, content: { votes, allowMissing } };
}

function parseLineHeader(line: Uint8Array): BlockHeader | undefined {
  let header: Record<string, unknown>;
  try {
    const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
    const found = memberOf(JSON.parse(text), 'header');
    header = hasMembers(found) ? found : {};
  } catch {
    return undefined;
  }
  const number = parseSlot(header['number']);
  const parentSlot = parseSlot(header['parentSlot']);
  const height = header['height'] === null ? null : parseSlot(header['height']);
  if (number === undefined || parentSlot === undefined || height === undefined) return undefined;
  if (number === 0 ? parentSlot !== 0 : parentSlot >= number) return undefined;
  const hash = parseBlockHash(header['hash']);
  const parentHash = header['parentHash'] === null ? null : parseBlockHash(header['parentHash']);
  if (hash === undefined || parentHash === undefined) return undefined;
  return {
    number,
    hash,
    parentSlot,
    parentHash: number === 0 ? null : parentHash,
    height,
    timestamp: null,
  };
}
