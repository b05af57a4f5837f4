import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const gunzipAsync = promisify(gunzip);

export type Body =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refused'; readonly status: 400 | 413 | 415; readonly text: string };

/** Reads a request's body, gzip or plain, up to a bound on the wire and decoded. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Body> {
  const tooLarge: Body = {
    kind: 'refused',
    status: 413,
    text: `the body is larger than ${bytesMax} bytes`,
  };
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'gzip' && encoding !== 'identity') {
    return { kind: 'refused', status: 415, text: 'Content-Encoding: gzip or none is required' };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) return tooLarge;
    chunks.push(chunk);
  }
  const wire = Buffer.concat(chunks);
  if (encoding === 'identity') return { kind: 'text', text: wire.toString() };
  try {
    const decoded = await gunzipAsync(wire, { maxOutputLength: bytesMax });
    return { kind: 'text', text: decoded.toString() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return tooLarge;
    return { kind: 'refused', status: 400, text: 'the body is no valid gzip' };
  }
}
