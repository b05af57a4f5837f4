/**
 * Another Sluice as a source: history and head over its stream, and what ingestion asks of any source over the same
 * interface. Nothing of it is believed that a node would not be believed either.
 */
import { isBase58Of32 } from '../base/base58.ts';
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
import { type BlockHash, parseSlot, type Slot } from '../ledger/primitives.ts';
import { buildBlockQuery, buildHeaderQuery } from './line-query.ts';
import { PortalClient, type PortalClientModules, type PortalLines } from './portal-client.ts';
import { lineBytesMax } from './read-line-block.ts';
import { type Answer, type Refusal, refusal } from './rpc-refusal.ts';
import type { Commitment, SourceIdentity, SourceNode } from './source-node.ts';

export interface PortalNodeOptions {
  readonly name: string;
  /** Of the dataset: `http://HOST/datasets/NAME`. */
  readonly url: string;
  readonly key?: string | undefined;
}

/** What a stream from a position turned out to be. */
export type PortalFeed =
  | { readonly kind: 'lines'; readonly lines: PortalLines }
  | { readonly kind: 'above' }
  | { readonly kind: 'conflict'; readonly previousBlocks: readonly BlockRef[] }
  | Refusal;

export class PortalNode implements SourceNode {
  readonly name: string;
  readonly format = 'line';
  readonly #client: PortalClient;

  constructor({ name, url, key }: PortalNodeOptions, modules: PortalClientModules) {
    this.name = name;
    this.#client = new PortalClient({ url, key, lineBytesMax }, modules);
  }

  identity(signal: AbortSignal): Promise<Answer<SourceIdentity>> {
    return this.#read('/status', signal, parseIdentity);
  }

  async slot(commitment: Commitment, signal: AbortSignal): Promise<Answer<Slot>> {
    const path = commitment === 'finalized' ? '/finalized-head' : '/head';
    const answer = await this.#read(path, signal, (value) =>
      value === null ? null : parseSlot((value as { number?: unknown }).number),
    );
    if (answer.kind === 'refused') return answer;
    if (answer.value === null) return refusal('not-available', 'the portal has no block yet');
    return { kind: 'ok', value: answer.value };
  }

  firstAvailable(signal: AbortSignal): Promise<Answer<Slot>> {
    return this.#read('/metadata', signal, (value) =>
      parseSlot((value as { start_block?: unknown } | null)?.start_block),
    );
  }

  async listSlots(
    range: { readonly first: number; readonly last: number },
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<Answer<Slot[]>> {
    const query = buildHeaderQuery({ fromBlock: range.first, toBlock: range.last });
    const opened = await this.#client.open(pathOf(commitment), query, signal);
    if (opened.kind === 'above') return { kind: 'ok', value: [] };
    if (opened.kind !== 'lines') return asRefusal(opened);
    const { lines } = opened;
    // Above its head the portal would wait for more.
    const head = commitment === 'finalized' ? (lines.finalized?.number ?? null) : lines.head;
    const last = Math.min(range.last, head ?? range.last);
    const slots: Slot[] = [];
    for await (const line of lines) {
      const slot = parseLineHeader(line)?.number;
      const isNext = slot !== undefined && slot >= range.first && slot > (slots.at(-1) ?? -1);
      if (!isNext) return refusal('malformed', 'a line is no header of the range');
      slots.push(slot);
      if (slot >= last) break;
    }
    return lines.fault ?? { kind: 'ok', value: slots };
  }

  async header(
    slot: Slot,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<Answer<BlockHeader>> {
    const query = buildHeaderQuery({ fromBlock: slot, toBlock: slot });
    const line = await this.#readLine(commitment, query, signal);
    if (line.kind === 'refused') return line;
    const header = parseLineHeader(line.value);
    return header?.number === slot
      ? { kind: 'ok', value: header }
      : refusal('malformed', 'the line is no header of the slot');
  }

  block(
    slot: Slot,
    commitment: Commitment,
    { signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Answer<Uint8Array>> {
    const query = buildBlockQuery({ fromBlock: slot, toBlock: slot });
    return this.#readLine(commitment, query, signal);
  }

  /** Whole blocks from a slot on, then each new one as it comes, until the portal ends it. */
  follow(
    { from, parentHash }: { readonly from: Slot; readonly parentHash: BlockHash | null },
    signal: AbortSignal,
  ): Promise<PortalFeed> {
    const parent = parentHash === null ? {} : { parentBlockHash: parentHash };
    return this.#client.open('/stream', buildBlockQuery({ fromBlock: from, ...parent }), signal);
  }

  giveBack(): void {
    // A line is its own buffer, and collected.
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #read<Value>(
    path: string,
    signal: AbortSignal,
    parse: (value: unknown) => Value | undefined,
  ): Promise<Answer<Value>> {
    const answer = await this.#client.read(path, signal);
    if (answer.kind === 'refused') return answer;
    const value = parse(answer.value);
    if (value === undefined) return refusal('malformed', `the answer of ${path} is not one`);
    return { kind: 'ok', value };
  }

  /** The line of a range of one slot. */
  async #readLine(
    commitment: Commitment,
    query: string,
    signal: AbortSignal,
  ): Promise<Answer<Uint8Array>> {
    const opened = await this.#client.open(pathOf(commitment), query, signal);
    if (opened.kind === 'above') return refusal('not-available', 'above what the portal has');
    if (opened.kind !== 'lines') return asRefusal(opened);
    const { lines } = opened;
    const first = await lines.next();
    await lines.return();
    if (first.done !== true) return { kind: 'ok', value: first.value };
    return lines.fault ?? refusal('skipped-hint', 'the portal has no block there');
  }
}

function pathOf(commitment: Commitment): string {
  return commitment === 'finalized' ? '/finalized-stream' : '/stream';
}

function asRefusal(feed: Exclude<PortalFeed, { kind: 'lines' | 'above' }>): Refusal {
  if (feed.kind === 'refused') return feed;
  return refusal('malformed', 'a conflict although no parent was sent');
}

const lineStart = /^\{"header":\{"number":(\d{1,16})[,}]/;

/** The slot that a line says it is of. */
export function slotOfLine(line: Uint8Array): Slot | undefined {
  const found = lineStart.exec(Buffer.from(line.subarray(0, 64)).toString('latin1'));
  return found === null ? undefined : parseSlot(Number(found[1]));
}

const kinds: ReadonlySet<unknown> = new Set(['logs', 'rewards', 'meta']);

function parseIdentity(value: unknown): SourceIdentity | undefined {
  const { genesis_hash, votes, allow_missing } = (value ?? {}) as Record<string, unknown>;
  const isHash = typeof genesis_hash === 'string' && isBase58Of32(genesis_hash);
  if (genesis_hash !== null && !isHash) return undefined;
  if (votes !== 'drop' && votes !== 'keep') return undefined;
  if (!Array.isArray(allow_missing) || !allow_missing.every((kind) => kinds.has(kind))) {
    return undefined;
  }
  const allowMissing = allow_missing as readonly string[];
  return { genesisHash: isHash ? genesis_hash : null, content: { votes, allowMissing } };
}

function parseLineHeader(line: Uint8Array): BlockHeader | undefined {
  let header: Record<string, unknown>;
  try {
    const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
    header = ((JSON.parse(text) as { header?: unknown }).header ?? {}) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { hash, parentHash } = header;
  const number = parseSlot(header['number']);
  const parentSlot = parseSlot(header['parentSlot']);
  const height = header['height'] === null ? null : parseSlot(header['height']);
  if (number === undefined || parentSlot === undefined || height === undefined) return undefined;
  if (number === 0 ? parentSlot !== 0 : parentSlot >= number) return undefined;
  const isHash = (value: unknown) => typeof value === 'string' && isBase58Of32(value);
  if (!isHash(hash) || (parentHash !== null && !isHash(parentHash))) return undefined;
  return {
    number,
    hash: hash as BlockHash,
    parentSlot,
    parentHash: number === 0 ? null : (parentHash as BlockHash | null),
    height,
    timestamp: null,
  };
}
