/** Looks up single blocks and transactions, the activity of a range, and the cost of a query. */

import { type FieldName, type Kind, selectEveryField } from '@sluice/protocol/field-table';
import type { Activity, Estimate } from '@sluice/protocol/lookup-answers';
import { hasMembers } from '@sluice/protocol/unknown-value';
import { decodeMarked } from './base/exact-json.ts';
import { isSluiceError, SluiceError } from './base/sluice-error.ts';
import type { Call, ClientParts, ReadBody } from './create-caller.ts';
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

export interface ActivityOptions extends LookupOptions {
  /** Slots, both inclusive; the whole dataset by default. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
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
  /** Returns how much a query would have to read, according to the indexes. */
  estimate(query: Query, options?: LookupOptions): Promise<Estimate>;
}

export function buildLookups(call: Call, { http, parsed }: ClientParts): Lookups {
  const bytesMax = parsed.lines.lineBytesMax;
  const readObject: ReadBody<LookupBody> = async (opened, signal) => {
    const bytes = await http.readBytes(opened, { bytesMax, signal });
    if (bytes.length >= bytesMax) throw new SluiceError('line-too-long', { detail: 'a lookup' });
    return parseAnswer(bytes, opened.response.url);
  };
  const get = (path: string, signal?: AbortSignal) => call({ path, signal }, readObject);
  return {
    block: async (slot, { signal } = {}) => toBlock(await get(`/blocks/${slot}`, signal)),
    transaction: async (signature, { signal } = {}) => {
      try {
        return toBlock(await get(`/transactions/${encodeURIComponent(signature)}`, signal));
      } catch (error) {
        if (isSluiceError(error) && error.reply?.code === 'transaction-unknown') return null;
        throw error;
      }
    },
    accountTransactions: async (address, { signal, before, limit } = {}) => {
      const path = `/accounts/${encodeURIComponent(address)}/transactions`;
      const answer = await get(`${path}${toParameters({ before, limit })}`, signal);
      const entries = answer['transactions'] as readonly LookupBody[];
      return {
        transactions: entries.map(toBlock),
        next: answer['next'] as string | null,
      };
    },
    activity: async ({ signal, ...parameters } = {}) =>
      (await get(`/activity${toParameters(parameters)}`, signal)) as unknown as Activity,
    estimate: async (query, { signal } = {}) => {
      const request = { path: '/estimate', body: JSON.stringify(query), signal };
      return (await call(request, readObject)) as unknown as Estimate;
    },
  };
}

type LookupBody = Record<string, unknown>;

function parseAnswer(bytes: Uint8Array, url: string): LookupBody {
  try {
    const value: unknown = JSON.parse(decodeMarked(bytes));
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

function toBlock(answer: LookupBody): FullBlock {
  return revive(answer, 'a looked up block') as unknown as FullBlock;
}
