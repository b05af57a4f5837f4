/** Looks up single blocks and transactions, the activity of a range, and the cost of a query. */

import {
  type FieldName,
  type Kind,
  RECORD_ARRAY_NAMES,
  selectEveryField,
} from '@sluice/protocol/field-table';
import type {
  Activity,
  Coverage,
  Estimate,
  ProgramInterface,
  RangeDigest,
  RecordCount,
} from '@sluice/protocol/lookup-results';
import { mapKeys } from '@sluice/protocol/typed-keys';
import { hasMembers } from '@sluice/protocol/unknown-value';
import { decodeMarked } from './base/exact-json.ts';
import { isSluiceError, SluiceError } from './base/sluice-error.ts';
import type { Call, ClientParts } from './create-caller.ts';
import { buildBlockReviver } from './stream/block-parser.ts';
import type { Block, Query } from './stream/query-types.ts';

type AllFields = { readonly [K in Kind]: { readonly [Name in FieldName<K, 'ledger'>]: true } };

/** A block with every field of its records. */
export type FullBlock = Block<{ readonly fields: AllFields }>;

export interface LookupOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface PageOptions extends LookupOptions {
  /** `next` of the previous page, or a slot, to get transactions of lower slots. */
  readonly before?: string | number | undefined;
  readonly limit?: number | undefined;
}

export interface AccountTransactions {
  /** The transactions, newest first. Each is a block with one transaction and its records without logs. */
  readonly transactions: readonly FullBlock[];
  /** `before` of the next page; null if there are no older transactions. */
  readonly next: string | null;
}

export interface CoverageOptions extends LookupOptions {
  /** Slots, both inclusive; the whole dataset by default. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface ActivityOptions extends CoverageOptions {
  readonly limit?: number | undefined;
}

export interface Lookups {
  /** Returns a block. Throws `not-stored` for a slot without a block; `reply.code` has the reason. */
  block(slot: number, options?: LookupOptions): Promise<FullBlock>;
  /** Returns the block of a transaction with only this transaction and its records; null if no transaction has the signature. */
  transaction(signature: string, options?: LookupOptions): Promise<FullBlock | null>;
  /** Returns transactions that mention an address in any role, newest first. */
  accountTransactions(address: string, options?: PageOptions): Promise<AccountTransactions>;
  activity(options?: ActivityOptions): Promise<Activity>;
  /** Returns which slots of a range are stored, proven to be skipped, not final, or missing. */
  coverage(options?: CoverageOptions): Promise<Coverage>;
  /** Returns the digest of the final blocks of a range. A long range takes several requests. Slots that are not final are left out: `isComplete` is then false. */
  digest(options?: CoverageOptions): Promise<RangeDigest>;
  /** Returns the names and types by which a program is decoded; null if the service has no IDL of it. */
  program(address: string, options?: LookupOptions): Promise<ProgramInterface | null>;
  /** Returns how much a query would have to read, according to the indexes. */
  estimate(query: Query, options?: LookupOptions): Promise<Estimate>;
  /** Returns how many records of each kind a query selects, up to the head. A long range takes several requests. */
  count(query: Query, options?: LookupOptions): Promise<RecordCount>;
}

export function buildLookups(call: Call, { http, parsed }: ClientParts): Lookups {
  const bytesMax = parsed.lines.lineBytesMax;
  const send = <Body>(request: Parameters<Call>[0]) =>
    call<Body>(request, async (opened, signal) => {
      const bytes = await http.readBytes(opened, { bytesMax, signal });
      if (bytes.length >= bytesMax) throw new SluiceError('line-too-long', { detail: 'a lookup' });
      return parseResult<Body>(bytes, opened.response.url);
    });
  const get = <Body = LookupBody>(path: string, signal?: AbortSignal) =>
    send<Body>({ path, signal });
  return {
    block: async (slot, { signal } = {}) => toBlock(await get(`/blocks/${slot}`, signal)),
    transaction: async (signature, { signal } = {}) => {
      const path = `/transactions/${encodeURIComponent(signature)}`;
      const found = await orNull(get(path, signal), 'transaction-unknown');
      return found === null ? null : toBlock(found);
    },
    program: async (address, { signal } = {}) => {
      const path = `/programs/${encodeURIComponent(address)}`;
      return orNull(get<ProgramInterface>(path, signal), 'program-unknown');
    },
    accountTransactions: async (address, { signal, before, limit } = {}) => {
      const path = `/accounts/${encodeURIComponent(address)}/transactions`;
      const { transactions, next } = await get<{
        readonly transactions: readonly LookupBody[];
        readonly next: string | null;
      }>(`${path}${toParameters({ before, limit })}`, signal);
      return { transactions: transactions.map(toBlock), next };
    },
    activity: async ({ signal, ...parameters } = {}) =>
      get<Activity>(`/activity${toParameters(parameters)}`, signal),
    coverage: async ({ signal, ...parameters } = {}) =>
      get<Coverage>(`/coverage${toParameters(parameters)}`, signal),
    digest: async ({ signal, from, to } = {}) => {
      const digestFrom = (start: number | undefined) =>
        get<RangeDigest>(`/digest${toParameters({ from: start, to })}`, signal);
      let sum = await digestFrom(from);
      while (!sum.isComplete) {
        const more = await digestFrom(sum.toBlock + 1);
        if (more.toBlock < more.fromBlock) break;
        sum = joinDigests(sum, more);
      }
      return sum;
    },
    estimate: async (query, { signal } = {}) =>
      send<Estimate>({ path: '/estimate', body: JSON.stringify(query), signal }),
    count: async (query, { signal } = {}) => {
      const countFrom = (part: Query) =>
        send<RecordCount>({ path: '/count', body: JSON.stringify(part), signal });
      let sum = await countFrom(query);
      const { parentBlockHash: _, ...rest } = query;
      while (!sum.isComplete)
        sum = joinCounts(sum, await countFrom({ ...rest, fromBlock: sum.toBlock + 1 }));
      return sum;
    },
  };
}

/** Adds the count of the following slots. */
function joinCounts(sum: RecordCount, more: RecordCount): RecordCount {
  return {
    fromBlock: sum.fromBlock,
    toBlock: more.toBlock,
    isComplete: more.isComplete,
    blocks: sum.blocks + more.blocks,
    transactions: sum.transactions + more.transactions,
    instructions: sum.instructions + more.instructions,
    logs: sum.logs + more.logs,
    balances: sum.balances + more.balances,
    tokenBalances: sum.tokenBalances + more.tokenBalances,
    rewards: sum.rewards + more.rewards,
    firstBlock: sum.firstBlock ?? more.firstBlock,
    lastBlock: more.lastBlock ?? sum.lastBlock,
  };
}

/** Adds the digest of the following slots. */
function joinDigests(sum: RangeDigest, more: RangeDigest): RangeDigest {
  const added = BigInt.asUintN(256, BigInt(`0x${sum.digest}`) + BigInt(`0x${more.digest}`));
  return {
    version: sum.version,
    fromBlock: sum.fromBlock,
    toBlock: more.toBlock,
    isComplete: more.isComplete,
    blocks: sum.blocks + more.blocks,
    records: mapKeys(RECORD_ARRAY_NAMES, (array) => sum.records[array] + more.records[array]),
    digest: added.toString(16).padStart(64, '0'),
  };
}

type LookupBody = Record<string, unknown>;

/** Returns null if the service refuses a lookup with the code. */
async function orNull<Body>(lookup: Promise<Body>, code: string): Promise<Body | null> {
  try {
    return await lookup;
  } catch (error) {
    if (isSluiceError(error) && error.reply?.code === code) return null;
    throw error;
  }
}

/** The type of the body is that of the interface; only its outermost form is checked. */
function parseResult<Body>(bytes: Uint8Array, url: string): Body {
  try {
    const value: Body = JSON.parse(decodeMarked(bytes));
    if (hasMembers(value)) return value;
  } catch (cause) {
    throw new SluiceError('response-malformed', { detail: `${url} is not JSON`, cause });
  }
  throw new SluiceError('response-malformed', { detail: `${url} is not an object` });
}

function toParameters(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

const revive = buildBlockReviver(selectEveryField('ledger'));

function toBlock(result: LookupBody): FullBlock {
  return revive(result, 'a looked up block', true) as unknown as FullBlock;
}
