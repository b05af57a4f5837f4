/** The addresses of sources that people configure: what a valid one looks like, in words and as a check. */
import { isCodedError } from '@sluice/base/errors';
import { isHttpAddress } from './archive/archive-files.ts';
import { parsePortalUrl } from './portal/portal-client.ts';
import { parseSourceUrl } from './rpc/rpc-client.ts';

export const ADDRESSES = {
  rpc: {
    expected: 'an address that starts with http:// or https://',
    isValid: (text: string) => isParsed(text, parseSourceUrl),
  },
  grpc: {
    expected: 'http://HOST:PORT or https://HOST:PORT, without a path',
    isValid: (text: string) => isParsed(text, parseSourceUrl) && isOrigin(new URL(text)),
  },
  portal: {
    expected: 'the address of a dataset, http://HOST/datasets/NAME',
    isValid: (text: string) => isParsed(text, parsePortalUrl),
  },
  archive: {
    expected: 'a folder, or an address that starts with http:// or https://',
    isValid: (text: string) => isHttpAddress(text) || !/^[a-z0-9+.-]+:\/\//i.test(text),
  },
  /** A WebSocket, or `none`. */
  ws: {
    expected: 'an address that starts with ws:// or wss://, or none',
    isValid: (text: string) =>
      text === 'none' || (URL.canParse(text) && /^wss?:$/.test(new URL(text).protocol)),
  },
} as const;

/** A gRPC address has no path, because methods have theirs, and no password, because the token is a header. */
function isOrigin({ pathname, search, username, password }: URL): boolean {
  return pathname === '/' && `${search}${username}${password}` === '';
}

function isParsed(text: string, parse: (text: string) => URL): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    if (isCodedError(error)) return false;
    throw error;
  }
}
