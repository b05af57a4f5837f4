import { systemErrorCode } from '@sluice/base/system-error-code';
import { memberOf } from '@sluice/protocol/unknown-value';
import type { Config } from '../../app/config/config-schema.ts';
import type { Finding } from './check.ts';
import { describeError } from './check-data.ts';
import { checkGrpc } from './check-grpc.ts';

const area = 'sources';
const responseMsMax = 10_000;
/** A source with a larger lag does not keep up, or the clock of this machine is wrong. */
const lagSecondsMax = 60;
const clockSecondsMax = 5;

export type SourceConfig = Config['datasets'][number]['sources'][number];

/** Checks each source on the network: whether it responds, how far behind it is, and whether the clocks agree. */
export async function checkSources(
  sources: readonly SourceConfig[],
  unixMs: () => number,
): Promise<Finding[]> {
  const checked = sources.flatMap((source) =>
    source.kind === 'rpc' || source.kind === 'portal' || source.kind === 'grpc' ? [source] : [],
  );
  if (checked.length === 0) {
    const text = 'no node and no other Sluice is configured, so no source was checked';
    return [{ area, state: 'ok', text }];
  }
  const findings = await Promise.all(
    checked.map(async (source, index) => {
      // Sources are numbered, because an address may contain a key.
      const name = source.name ?? `${source.kind}-${index + 1}`;
      switch (source.kind) {
        case 'rpc':
          return checkNode(name, source, unixMs);
        case 'grpc':
          return checkGrpc(name, source);
        case 'portal':
          return checkPortal(name, source, unixMs);
      }
    }),
  );
  return findings.flat();
}

async function checkNode(
  name: string,
  { url, headers }: Extract<SourceConfig, { kind: 'rpc' }>,
  unixMs: () => number,
): Promise<Finding[]> {
  try {
    const call = async (method: string, params: readonly unknown[] = []) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const json = { ...headers, 'content-type': 'application/json' };
      const { response, text } = await send(url, { method: 'POST', headers: json, body });
      return { response, reply: JSON.parse(text) as RpcReply };
    };
    const { response, reply } = await call('getSlot', [{ commitment: 'finalized' }]);
    if (typeof reply.result !== 'number') return [refused(name, response, reply)];
    const slot = reply.result;
    const time = (await call('getBlockTime', [slot])).reply.result;
    const lag = typeof time === 'number' ? Math.round(unixMs() / 1_000 - time) : undefined;
    return [describeLag(name, slot, lag), ...checkClock(name, response, unixMs)];
  } catch (error) {
    return [silent(name, error)];
  }
}

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly message?: string };
}

async function checkPortal(
  name: string,
  { url, key }: Extract<SourceConfig, { kind: 'portal' }>,
  unixMs: () => number,
): Promise<Finding[]> {
  try {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const { response, text } = await send(`${url.replace(/\/+$/, '')}/status`, { headers });
    if (response.status !== 200) return [refused(name, response, {})];
    const { head, start_block, head_lag_seconds } = JSON.parse(text) as {
      head: { number: number } | null;
      start_block: number | null;
      head_lag_seconds: number | null;
    };
    const from = start_block === null ? '' : `, starts at slot ${start_block}`;
    const lag = describeLag(name, head?.number, head_lag_seconds ?? undefined, from);
    return [lag, ...checkClock(name, response, unixMs)];
  } catch (error) {
    return [silent(name, error)];
  }
}

async function send(
  url: string,
  init: RequestInit,
): Promise<{ readonly response: Response; readonly text: string }> {
  const signal = AbortSignal.timeout(responseMsMax);
  const response = await fetch(url, { ...init, redirect: 'manual', signal });
  return { response, text: await response.text() };
}

function describeLag(
  name: string,
  slot: number | undefined,
  lag: number | undefined,
  more = '',
): Finding {
  const text = `${name} responds, is at slot ${slot ?? '-'}${more}`;
  if (lag === undefined || lag <= lagSecondsMax) return { area, state: 'ok', text };
  const remedy = 'check that the node keeps up with its cluster, and the clock of this machine';
  return { area, state: 'warning', text: `${text}, ${lag} s ago`, remedy };
}

function refused(name: string, { status }: Response, { error }: RpcReply): Finding {
  const text = `${name} refuses the request: HTTP ${status}${error?.message === undefined ? '' : `, ${error.message}`}`;
  const remedy =
    status === 401 || status === 403
      ? 'check its key: headers of an rpc source, SLUICE_PORTAL_KEY or key of a portal'
      : 'check its address';
  return { area, state: 'wrong', text, remedy };
}

function silent(name: string, error: unknown): Finding {
  const reason = systemErrorCode(memberOf(error, 'cause')) ?? describeError(error);
  const text = `${name} does not respond: ${reason}`;
  return {
    area,
    state: 'wrong',
    text,
    remedy: 'check its address, and that it can be reached from here',
  };
}

/** Compares the clocks by the `Date` header of the source, which has a precision of a second. */
function checkClock(name: string, response: Response, unixMs: () => number): Finding[] {
  const theirs = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return [];
  const seconds = Math.round((unixMs() - theirs) / 1_000);
  if (Math.abs(seconds) <= clockSecondsMax) {
    return [{ area: 'clock', state: 'ok', text: `agrees with that of ${name}` }];
  }
  const text = `differs from that of ${name} by ${seconds} s`;
  const remedy = 'synchronize it (systemd-timesyncd, chrony); otherwise reported lags are wrong';
  return [{ area: 'clock', state: 'warning', text, remedy }];
}
