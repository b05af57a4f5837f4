import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { elementAt } from '@sluice/base/element-at';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { SimulatedTime } from '../chain/simulated-time.ts';
import { FAULT_KINDS } from '../faults/fault-kinds.ts';
import { checkKind, type Fault, type Faults } from '../faults/faults.ts';
import type { NodeView } from './node-view.ts';
import { readBody } from './read-body.ts';

const bodyBytesMax = 64 * 1024;
const advanceMsMax = 365 * 24 * 3_600_000;

export interface ControlDependencies {
  readonly faults: Faults;
  readonly time: SimulatedTime;
  readonly view: NodeView;
  readonly slotMs: number;
}

interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

/** Creates the server with which a person or a test sets the faults of the node and changes its time. */
export function createControlServer(dependencies: ControlDependencies): Server {
  return createServer((request, response) => {
    answer(request, dependencies)
      .then((reply) => send(response, reply))
      .catch((error) => send(response, refusal(error)));
  });
}

async function answer(
  request: IncomingMessage,
  dependencies: ControlDependencies,
): Promise<ControlReply> {
  const url = new URL(request.url ?? '/', 'http://control');
  const [, topic = '', id] = url.pathname.split('/');
  switch (`${request.method} /${topic}`) {
    case 'GET /':
      return { status: 200, body: describeControl() };
    case 'GET /faults':
      return { status: 200, body: dependencies.faults.list().map(describeFault) };
    case 'POST /faults':
      return { status: 201, body: describeFault(dependencies.faults.set(await readJson(request))) };
    case 'DELETE /faults':
      return { status: 200, body: { cleared: clearFaults(dependencies.faults, url, id) } };
    case 'GET /time':
      return { status: 200, body: describeTime(dependencies) };
    case 'POST /time':
      changeTime(await readJson(request), dependencies);
      return { status: 200, body: describeTime(dependencies) };
    default:
      return { status: 404, body: { error: describeControl() } };
  }
}

function describeControl(): unknown {
  return {
    'GET /faults': 'the faults that are set',
    'POST /faults':
      'set one: {"kind", its parameters, fromSlot, toSlot, methods, times, probability}',
    'DELETE /faults': 'clear all; /faults/ID one; ?kind=KIND those of a kind',
    'GET /time': 'the ledger’s time and heads',
    'POST /time': 'one of {"pause":true}, {"pause":false}, {"advanceSlots":N}, {"advanceMs":N}',
    kinds: FAULT_KINDS,
  };
}

function describeFault({ id, kind, parameters, scope, hits }: Fault): unknown {
  return { id, kind, ...parameters, ...scope, hits };
}

function describeTime({ time, view, slotMs }: ControlDependencies): unknown {
  const { processedSlot, confirmedSlot, finalizedSlot, firstAvailableSlot } = view.stateAt();
  return {
    paused: time.paused,
    speed: time.speed,
    slotMs,
    // Slot s is produced at s × slotMs of this time.
    ledgerMs: time.nowMs(),
    processedSlot,
    confirmedSlot,
    finalizedSlot,
    firstAvailableSlot,
  };
}

function clearFaults(faults: Faults, url: URL, id: string | undefined): number {
  const kind = url.searchParams.get('kind');
  if (kind !== null) checkKind(kind);
  if (id !== undefined && id !== '' && !/^\d+$/.test(id)) {
    const expected = 'the id of a fault';
    throw new CodedError('simulator-fault-invalid', { path: 'id', found: id, expected });
  }
  const cleared = faults.clear({
    ...(kind === null ? {} : { kind }),
    ...(id === undefined || id === '' ? {} : { id: Number(id) }),
  });
  if (cleared === 0 && id) throw new CodedError('simulator-fault-unknown', { id });
  return cleared;
}

function changeTime(request: unknown, { time, slotMs }: ControlDependencies): void {
  const entries = Object.entries(request ?? {});
  const [name, value]: readonly unknown[] = entries.length === 1 ? elementAt(entries, 0) : [];
  const unitMs = name === 'advanceSlots' ? slotMs : name === 'advanceMs' ? 1 : 0;
  const advanceMs = typeof value === 'number' ? value * unitMs : 0;
  if (name === 'pause' && value === true) time.pause();
  else if (name === 'pause' && value === false) time.resume();
  else if (advanceMs > 0 && advanceMs <= advanceMsMax) time.advance(advanceMs);
  else {
    throw new CodedError('simulator-time-invalid', {
      found: (JSON.stringify(request) ?? 'nothing').slice(0, 100),
      expected: `one of {"pause":true}, {"pause":false}, {"advanceSlots":N}, {"advanceMs":N}, N above 0 and at most a year`,
    });
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = (await readBody(request, bodyBytesMax)) ?? `more than ${bodyBytesMax} bytes`;
  try {
    return JSON.parse(body);
  } catch {
    // Reported below.
  }
  const detail = { path: 'body', found: body.slice(0, 100), expected: 'JSON' };
  throw new CodedError('simulator-fault-invalid', detail);
}

function refusal(error: unknown): ControlReply {
  if (!isCodedError(error)) return { status: 500, body: { error: { code: 'bug' } } };
  const { code, message, detail } = error;
  const status = code === 'simulator-fault-unknown' ? 404 : 400;
  return { status, body: { error: { code, message, ...detail } } };
}

function send(response: ServerResponse, { status, body }: ControlReply): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(`${JSON.stringify(body)}\n`);
}
