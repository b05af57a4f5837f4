/** Sends requests like a client: after each response it requests the blocks after the last line, until the range is covered. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createGunzip } from 'node:zlib';
import { ScenarioFailure } from '../service/scenario.ts';
import { LastLine } from './last-line.ts';
import type { Encoding } from './options.ts';

export interface ScanRequest {
  readonly port: number;
  readonly dataset: string;
  readonly encoding: Encoding;
  readonly body: object;
  readonly range: { readonly first: number; readonly last: number };
}

export interface ScanResponse {
  /** The time from sending a request to the last byte of its response, over all requests. */
  readonly ms: number;
  readonly textBytes: number;
  readonly sentBytes: number;
  readonly requestCount: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const lineFeed = 10;
const gunzipChunkBytes = 1 << 20;

/**
 * Reads an answer completely. Decompression is not part of the measured time, because the service is measured and not the client.
 */
export async function readAnswer(
  request: ScanRequest,
  onText: (piece: Buffer) => void = () => {},
): Promise<ScanResponse> {
  const total = { ms: 0, textBytes: 0, sentBytes: 0, requestCount: 0 };
  for (let first = request.range.first; first <= request.range.last; ) {
    const lastLine = new LastLine();
    const take = (piece: Buffer) => {
      total.textBytes += piece.length;
      lastLine.push(piece);
      onText(piece);
    };
    const startMs = performance.now();
    const response = await send({ ...request, range: { ...request.range, first } });
    const packed: Buffer[] = [];
    const isPacked = response.headers['content-encoding'] === 'gzip';
    response.on('data', (piece: Buffer) => {
      total.sentBytes += piece.length;
      if (isPacked) packed.push(piece);
      else take(piece);
    });
    await once(response, 'end');
    total.ms += performance.now() - startMs;
    total.requestCount++;
    if (isPacked) await unpack(packed, take);
    const number = lastLine.number();
    // An empty answer: the remaining slots have no blocks.
    if (number === undefined) break;
    first = number + 1;
  }
  return total;
}

/** Reads and discards the response of one request. It is not decompressed, because that would take processor time from concurrent streams. */
export async function drainAnswer(
  request: ScanRequest,
): Promise<{ ms: number; sentBytes: number }> {
  const startMs = performance.now();
  const response = await send(request);
  let sentBytes = 0;
  response.on('data', (piece: Buffer) => {
    sentBytes += piece.length;
  });
  await once(response, 'end');
  return { ms: performance.now() - startMs, sentBytes };
}

/** Returns the time from a request to the end of its first line, and abandons the rest. */
export async function timeFirstLine(request: ScanRequest): Promise<number> {
  const startMs = performance.now();
  const response = await send(request);
  const isPacked = response.headers['content-encoding'] === 'gzip';
  const text = isPacked ? response.pipe(createGunzip()) : response;
  let ms: number | undefined;
  try {
    for await (const piece of text as AsyncIterable<Buffer>) {
      if (!piece.includes(lineFeed)) continue;
      ms = performance.now() - startMs;
      break;
    }
  } finally {
    response.destroy();
  }
  if (ms === undefined) throw new ScenarioFailure('an answer ended without a line');
  return ms;
}

async function send({
  port,
  dataset,
  encoding,
  body,
  range,
}: ScanRequest): Promise<IncomingMessage> {
  const text = JSON.stringify({ fromBlock: range.first, toBlock: range.last, ...body });
  const sent = request({
    host: '127.0.0.1',
    port,
    path: `/datasets/${dataset}/stream`,
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'accept-encoding': encoding,
    },
  });
  sent.end(text);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  if (response.statusCode === 200) return response;
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  throw new ScenarioFailure(`status ${response.statusCode}: ${Buffer.concat(pieces)}`);
}

async function unpack(pieces: readonly Buffer[], take: (piece: Buffer) => void): Promise<void> {
  const gunzip = createGunzip({ chunkSize: gunzipChunkBytes });
  gunzip.on('data', take);
  const end = once(gunzip, 'end');
  for (const piece of pieces) gunzip.write(piece);
  gunzip.end();
  await end;
}
