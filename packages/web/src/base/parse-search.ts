/** Determines the meaning of a text in the search box. */
import { decodeBase58 } from '@sluice/client';

export type SearchTarget =
  | { readonly kind: 'slot'; readonly slot: number }
  | { readonly kind: 'time'; readonly seconds: bigint }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'signature'; readonly signature: string }
  | { readonly kind: 'unknown'; readonly reason: string };

const addressBytes = 32;
const signatureBytes = 64;
/** A number of at least this size (September 2001) that is above the head is a time in Unix seconds. */
const secondsMin = 1_000_000_000;

export interface NamedAddress {
  readonly name: string;
  readonly address: string;
}

export interface SearchContext {
  readonly head: number | undefined;
  readonly named: readonly NamedAddress[];
}

export function parseSearch(input: string, { head, named }: SearchContext): SearchTarget {
  const text = input.trim();
  const digits = text.replaceAll(/[,_\s]/g, '');
  if (/^\d{1,15}$/.test(digits)) return parseNumber(Number(digits), head);
  if (/^\d{4}-\d\d/.test(text)) return parseDate(text);
  const found = findNamed(text, named);
  if (found !== undefined) return found;
  if (!/^[1-9A-HJ-NP-Za-km-z]+$/.test(text)) {
    return unknown(
      'Enter a slot, a signature, an address, the name of a program or token, or a time as 2025-02-01 12:00.',
    );
  }
  switch (byteCountOf(text)) {
    case addressBytes:
      return { kind: 'address', address: text };
    case signatureBytes:
      return { kind: 'signature', signature: text };
    default:
      return unknown(
        'This is no known name, and as base58 neither an address (32 bytes) nor a signature (64 bytes). Is a part missing?',
      );
  }
}

const namesShownMax = 8;

/** Finds the address with this name, or the only one whose name contains the text. */
function findNamed(text: string, named: readonly NamedAddress[]): SearchTarget | undefined {
  const wanted = plainName(text);
  if (wanted === '') return undefined;
  const similar = named.filter(({ name }) => plainName(name).includes(wanted));
  const exact = similar.filter(({ name }) => plainName(name) === wanted);
  const found = exact.length > 0 ? exact : similar;
  const [first] = found;
  if (first === undefined) return undefined;
  if (found.length === 1) return { kind: 'address', address: first.address };
  const names = found.slice(0, namesShownMax).map(({ name, address }) => `${name} (${address})`);
  const more = found.length > namesShownMax ? ` and ${found.length - namesShownMax} more` : '';
  return unknown(`Several names match: ${names.join(', ')}${more}.`);
}

/** Returns a name in lower case without spaces, punctuation and the word program. */
function plainName(text: string): string {
  return text
    .toLowerCase()
    .replace(/ program$/, '')
    .replaceAll(/[^a-z0-9]/g, '');
}

function parseNumber(number: number, head: number | undefined): SearchTarget {
  const isTime = number >= secondsMin && head !== undefined && number > head;
  return isTime ? { kind: 'time', seconds: BigInt(number) } : { kind: 'slot', slot: number };
}

/** A date without a zone is in UTC, like all times of the application. */
function parseDate(text: string): SearchTarget {
  const isZoned = /(z|utc|[+-]\d\d:?\d\d)$/i.test(text);
  const plain = text.replace(/\s*utc$/i, 'Z').replace(' ', 'T');
  const ms = Date.parse(isZoned || plain.length <= 10 ? plain : `${plain}Z`);
  if (Number.isNaN(ms)) return unknown('This is not a time. Write 2025-02-01 12:00, in UTC.');
  return { kind: 'time', seconds: BigInt(Math.floor(ms / 1_000)) };
}

function byteCountOf(text: string): number {
  try {
    return decodeBase58(text).length;
  } catch {
    return 0;
  }
}

function unknown(reason: string): SearchTarget {
  return { kind: 'unknown', reason };
}
