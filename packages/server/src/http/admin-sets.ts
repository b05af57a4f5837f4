/** Lists, stores and removes sets of addresses through the listener for operators. Changes are accepted from the same machine only. */
import type { IncomingMessage } from 'node:http';
import { CodedError } from '@sluice/base/errors';
import { setAddressCountMax, setNamePattern } from '../query/address-set.ts';
import { type AdminReply, isLocal, readBytes, replyJson } from './admin-idls.ts';

/** A stored set. */
export interface SetDescription {
  readonly name: string;
  readonly version: string;
  readonly addresses: number;
  readonly bytes: number;
}

/** The sets that an operator lists and changes. */
export interface AdminSets {
  readonly list: () => readonly SetDescription[];
  /** Stores the addresses of a text. Throws a coded error if it cannot be used. */
  readonly put: (name: string, text: Buffer) => Promise<SetDescription>;
  readonly remove: (name: string) => Promise<boolean>;
}

export const setsPath = '/sets';

/** An address has at most 44 characters. The rest is for line ends and comments. */
const bodyBytesMax = setAddressCountMax * 64;

export async function respondToSetRequest(
  request: IncomingMessage,
  sets: AdminSets,
): Promise<AdminReply> {
  const { method = '', url = '' } = request;
  const { pathname } = new URL(url, 'http://localhost');
  const name = pathname.slice(setsPath.length + 1);
  const isKnown =
    pathname === setsPath || (pathname[setsPath.length] === '/' && setNamePattern.test(name));
  if (!isKnown) throw new CodedError('operator-path-unknown');
  if (method === 'GET' || method === 'HEAD')
    return replyJson(sets.list().filter((set) => name === '' || set.name === name));
  if (name === '' || (method !== 'PUT' && method !== 'DELETE'))
    throw new CodedError('method-wrong');
  if (!isLocal(request)) throw new CodedError('operator-not-local');
  if (method === 'DELETE') {
    if (!(await sets.remove(name))) throw new CodedError('set-unknown', { name });
    return replyJson({ removed: name });
  }
  const body = await readBytes(request, bodyBytesMax);
  if (body === undefined)
    throw new CodedError('set-too-large', { allowed: `${bodyBytesMax} bytes of text` });
  return replyJson(await sets.put(name, body));
}
