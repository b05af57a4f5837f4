import type { ServerResponse } from 'node:http';
import type { Clock } from '@sluice/base/clock';
import { type RpcRequest, slotOfCall } from '../node/rpc-request.ts';
import type { FaultKind } from './fault-kinds.ts';
import { type Fault, type FaultSubject, type Faults, numberOf } from './faults.ts';

/** The faults with the layer `wire` that affect one request. Each counts once per request, regardless of its number of calls. */
export class WireFaults {
  readonly #faults: Faults;
  readonly #subjects: readonly FaultSubject[];

  constructor(faults: Faults, request: RpcRequest) {
    this.#faults = faults;
    const items = request.kind === 'batch' ? request.items : [request.item];
    this.#subjects = items.map((item) =>
      'failure' in item ? {} : { method: item.method, slot: slotOfCall(item) },
    );
  }

  take(kind: FaultKind): Fault | undefined {
    const subject = this.#subjects.find((at) => this.#faults.find(kind, at) !== undefined);
    return subject && this.#faults.take(kind, subject);
  }

  /** Returns the changes that the faults make to a body and to its transmission, or undefined if there are none. */
  takeBodyFaults(): BodyFaults | undefined {
    const edits: ((body: Buffer) => Buffer)[] = [];
    if (this.take('malformed-json')) edits.push(malform);
    if (this.take('invalid-utf8')) edits.push(breakUtf8);
    if (this.take('bom')) edits.push((body) => Buffer.concat([byteOrderMark, body]));
    const cutGzip = this.take('truncated-gzip') !== undefined;
    const drop = this.take('drop-connection');
    const drip = this.take('drip');
    if (edits.length === 0 && !cutGzip && !drop && !drip) return undefined;
    return {
      edits,
      cutGzip,
      dropAtByte: drop && numberOf(drop, 'atByte'),
      bytesPerSecond: drip && numberOf(drip, 'bytesPerSecond'),
    };
  }
}

export interface BodyFaults {
  readonly edits: readonly ((body: Buffer) => Buffer)[];
  readonly cutGzip: boolean;
  readonly dropAtByte: number | undefined;
  readonly bytesPerSecond: number | undefined;
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const noUtf8 = Buffer.from([0xc3, 0x28, 0xff]);

/** Returns the first half of the body, which is never valid JSON. */
function malform(body: Buffer): Buffer {
  return body.subarray(0, body.length >>> 1);
}

/** Inserts invalid bytes inside a string, so that the encoding is invalid but the syntax is not. */
function breakUtf8(body: Buffer): Buffer {
  const log = '"logMessages":["';
  const logAt = body.indexOf(log);
  const at = logAt >= 0 ? logAt + log.length : body.lastIndexOf('":"') + 3;
  return Buffer.concat([body.subarray(0, at), noUtf8, body.subarray(at)]);
}

/** Sends the first bytes of the body and then resets the connection. With 0 bytes it sends no status either. */
export function sendAndDrop(response: ServerResponse, body: Buffer, atByte: number): void {
  if (atByte === 0) {
    response.socket?.destroy();
    return;
  }
  response.writeHead(200, { 'Content-Length': body.length + 1 });
  response.write(body.subarray(0, atByte), () => response.socket?.destroy());
}

export async function sendSlowly(
  response: ServerResponse,
  body: Buffer,
  pace: { bytesPerSecond: number; clock: Clock },
): Promise<void> {
  const closed = new AbortController();
  response.on('close', () => closed.abort());
  response.writeHead(200, { 'Content-Length': body.length });
  // At most 50 pieces are sent per second, because sending smaller ones costs too much.
  const piece = Math.max(1, Math.floor(pace.bytesPerSecond / 50));
  const waitMs = (piece * 1000) / pace.bytesPerSecond;
  for (let at = 0; at < body.length && !closed.signal.aborted; at += piece) {
    response.write(body.subarray(at, at + piece));
    await pace.clock.sleep(waitMs, closed.signal);
  }
  response.end();
}
