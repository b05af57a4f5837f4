/** A query in a link. It is after the `#`, which browsers do not send, so the service does not limit its length. */
import { pagePath } from '../../state/page-path.ts';

const prefix = '#q=';

export function workbenchLink(dataset: string, query: object): string {
  return `${pagePath.workbench(dataset)}${encodeQuery(JSON.stringify(query, null, 2))}`;
}

/** Returns the part of the link from the `#` on: the text in UTF-8 and URL-safe base64. */
export function encodeQuery(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `${prefix}${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** Returns the text of a query; `undefined` if the part contains none. */
export function decodeQuery(hash: string): string | undefined {
  if (!hash.startsWith(prefix)) return undefined;
  try {
    const binary = atob(hash.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder('utf-8', { fatal: true }).decode(
      Uint8Array.from(binary, (c) => c.charCodeAt(0)),
    );
  } catch {
    return undefined;
  }
}
