/** Lists, registers and removes IDLs through the listener for operators. Changes are accepted from the same machine only. */
import type { IncomingMessage } from 'node:http';
import { CodedError } from '@sluice/base/errors';
import type { RegisteredIdl } from '@sluice/decode/idl-registry';
import { isAddress } from '@sluice/ledger/primitives';

export interface AdminReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** A registered IDL. */
export interface IdlDescription {
  readonly name: string;
  /** The name and the address of its program. */
  readonly program: string;
  readonly programId: string;
  readonly fromSlot: number | null;
  readonly toSlot: number | null;
  readonly origin: 'configuration' | 'operator';
  /** The types that it uses and does not define, each with a place. Values with them are not decoded. */
  readonly undefinedTypes: readonly string[];
}

/** The IDLs that an operator lists and changes. */
export interface AdminIdls {
  readonly list: () => readonly IdlDescription[];
  /** Throws a coded error if the IDL cannot be used. */
  readonly put: (idl: RegisteredIdl) => void;
  readonly remove: (name: string) => boolean;
}

export const idlsPath = '/idls';

const bodyBytesMax = 8 << 20;

export async function respondToIdlRequest(
  request: IncomingMessage,
  idls: AdminIdls,
): Promise<AdminReply> {
  const { method = '', url = '' } = request;
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const [, name = ''] = /^\/idls\/([\w.-]{1,100})$/.exec(pathname) ?? [];
  if (name === '' && pathname !== idlsPath) throw new CodedError('operator-path-unknown');
  if (method === 'GET' || method === 'HEAD')
    return replyJson(idls.list().filter((idl) => name === '' || idl.name === name));
  if (name === '' || (method !== 'PUT' && method !== 'DELETE'))
    throw new CodedError('method-wrong');
  if (!isLocal(request)) throw new CodedError('operator-not-local');
  if (method === 'DELETE') {
    if (!idls.remove(name)) throw new CodedError('operator-path-unknown');
    return replyJson({ removed: name });
  }
  const slots = slotsOf(searchParams);
  idls.put({ name, text: await readText(request), programId: programOf(searchParams), ...slots });
  return replyJson(idls.list().filter((idl) => idl.name === name));
}

export function replyJson(value: unknown): AdminReply {
  return { status: 200, type: 'application/json', body: JSON.stringify(value) };
}

/** Returns whether a request comes from the same machine. */
export function isLocal({ socket }: IncomingMessage): boolean {
  return /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
}

function programOf(parameters: URLSearchParams): string | undefined {
  const text = parameters.get('programId');
  if (text === null || isAddress(text)) return text ?? undefined;
  throw new CodedError('parameter-invalid', {
    path: 'programId',
    found: text,
    allowed: 'base58 of 32 bytes',
  });
}

function slotsOf(parameters: URLSearchParams): Pick<RegisteredIdl, 'fromSlot' | 'toSlot'> {
  const fromSlot = slotOf(parameters, 'fromSlot');
  const toSlot = slotOf(parameters, 'toSlot');
  if (fromSlot !== undefined && toSlot !== undefined && fromSlot > toSlot)
    throw new CodedError('parameter-invalid', {
      path: 'toSlot',
      found: String(toSlot),
      allowed: `${fromSlot} or more`,
    });
  return { fromSlot, toSlot };
}

function slotOf(parameters: URLSearchParams, path: string): number | undefined {
  const text = parameters.get(path);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CodedError('parameter-invalid', { path, found: text, allowed: 'a slot' });
}

async function readText(request: IncomingMessage): Promise<string> {
  const body = await readBytes(request, bodyBytesMax);
  if (body !== undefined) return body.toString();
  const expected = `at most ${bodyBytesMax} bytes`;
  throw new CodedError('idl-invalid', { path: 'the IDL', expected });
}

/** Returns the body of a request, or undefined if it is longer than allowed. */
export async function readBytes(
  request: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    const bytes = Buffer.from(part);
    parts.push(bytes);
    length += bytes.length;
    if (length > bytesMax) return undefined;
  }
  return Buffer.concat(parts);
}
