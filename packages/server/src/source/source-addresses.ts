/** What an address of a source must look like, for those who read addresses from people. */
import { isCodedError } from '../base/errors.ts';
import { parsePortalUrl } from './portal-client.ts';
import { parseSourceUrl } from './rpc-client.ts';

export const ADDRESSES_EXPECTED = {
  rpc: 'an address that begins with http:// or https://',
  portal: 'the address of a dataset, http://HOST/datasets/NAME',
  ws: 'an address that begins with ws:// or wss://, or none',
};

export function isSourceUrl(text: string): boolean {
  return isParsed(text, parseSourceUrl);
}

export function isPortalUrl(text: string): boolean {
  return isParsed(text, parsePortalUrl);
}

/** A WebSocket's address, or the word that asks for none. */
export function isSocketUrl(text: string): boolean {
  return text === 'none' || (URL.canParse(text) && /^wss?:$/.test(new URL(text).protocol));
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
