import { isCodedError } from '@sluice/base/errors';
import type { FastifyRequest } from 'fastify';
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { parseKeys } from './keys/api-keys.ts';
import { KEY_LIMITS, KeyBudgets } from './keys/key-budgets.ts';
import { checkRequest, isKnownPath, type RouteRow } from './request-checks.ts';
import { DatasetDirectory } from './served-dataset.ts';

const routes: readonly RouteRow[] = [
  { method: 'GET', url: '/', isOpen: true },
  { method: 'GET', url: '/datasets' },
  { method: 'GET', url: '/datasets/:name/head' },
  { method: 'POST', url: '/datasets/:name/head' },
  { method: 'POST', url: '/datasets/:name/stream', kind: 'stream' },
  { method: 'POST', url: '/datasets/:name/estimate', kind: 'response' },
  { method: 'GET', url: '/datasets/:name/height', dialect: 'solana' },
];
// The hash of "secret".
const hash = '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b';
const [key] = parseKeys(`${hash} alice\n`);

const datasets = new DatasetDirectory();
const ledger = datasets.expect({ name: 'one', aliases: ['first'], dialects: ['ledger'] });
const solana = datasets.expect({ name: 'two', aliases: [], dialects: ['ledger', 'solana'] });

let budgets: KeyBudgets;
let hasKeys: boolean;
beforeEach(() => {
  hasKeys = false;
  const limits = { ...KEY_LIMITS, requestBurst: 1, requestsPerSecond: 1, streamCountMax: 1 };
  budgets = new KeyBudgets(limits, new ManualClock());
});

interface TestRequest {
  readonly method?: string;
  readonly url: string;
  /** The route that the router found, if it found one. */
  readonly route?: string;
  readonly headers?: Record<string, string>;
  readonly is404?: boolean;
}

function check({ method = 'GET', url, route, headers = {}, is404 = false }: TestRequest) {
  const request = { method, url, headers, is404, routeOptions: { url: route }, raw: { headers } };
  const keys = () => (hasKeys && key !== undefined ? [key] : null);
  return checkRequest(request as unknown as FastifyRequest, { routes, datasets, keys, budgets });
}

function refusal(request: TestRequest): unknown {
  try {
    check(request);
  } catch (error) {
    return isCodedError(error) ? [error.code, error.detail] : error;
  }
  return 'accepted';
}

const json = { 'content-type': 'application/json' };
const head = { url: '/datasets/one/head?x=/', route: '/datasets/:name/head' };
const stream = { method: 'POST', url: '/datasets/one/stream', route: '/datasets/:name/stream' };

test('default: a request gets the dataset that its path names', () => {
  expect(check(head)).toEqual({ key: null, dataset: ledger });
  expect(check({ ...head, url: '/datasets/f%69rst/head' }).dataset).toBe(ledger);
  expect(check({ url: '/datasets', route: '/datasets' })).toEqual({ key: null, dataset: null });
  expect(check({ url: '/', route: '/' })).toEqual({ key: null, dataset: null });
  expect(check({ ...stream, headers: json })).toEqual({ key: null, dataset: ledger });
});

test('error: key-missing, key-wrong before all other checks, except for open routes', () => {
  hasKeys = true;
  expect(refusal({ url: '/nothing' })).toEqual(['key-missing', {}]);
  expect(refusal({ url: '/datasets/none/head', headers: { 'x-api-key': 'no' } })).toEqual([
    'key-wrong',
    {},
  ]);
  expect(check({ url: '/', route: '/' }).key).toBe(null);
  expect(check({ ...head, headers: { 'x-api-key': 'secret' } }).key).toBe(key);
});

test('error: dataset-unknown for every path with a name, of any method', () => {
  expect(refusal({ ...head, url: '/datasets/none/head' })).toEqual(['dataset-unknown', {}]);
  expect(refusal({ method: 'PUT', url: '/datasets/none/head' })).toEqual(['dataset-unknown', {}]);
  expect(refusal({ url: '/datasets/%zz/head' })).toEqual(['dataset-unknown', {}]);
});

test('error: path-unknown and method-wrong with the methods that the path has', () => {
  expect(refusal({ url: '/nothing' })).toEqual(['path-unknown', {}]);
  expect(refusal({ url: '/datasets/one' })).toEqual(['path-unknown', {}]);
  expect(refusal({ url: '/datasets/none/head/more' })).toEqual(['path-unknown', {}]);
  expect(refusal({ method: 'PUT', url: '/datasets/one/head' })).toEqual([
    'method-wrong',
    { method: 'PUT', allowed: 'GET, HEAD, POST' },
  ]);
  expect(refusal({ url: '/datasets/one/stream' })).toEqual([
    'method-wrong',
    { method: 'GET', allowed: 'POST' },
  ]);
  expect(refusal({ method: '', url: '/datasets/one/stream' })).toEqual(['path-unknown', {}]);
  expect(refusal({ ...head, is404: true })).toEqual([
    'method-wrong',
    { method: 'GET', allowed: 'GET, HEAD' },
  ]);
});

test('error: path-unknown for a route of a dialect that the dataset does not allow', () => {
  const height = { url: '/datasets/one/height', route: '/datasets/:name/height' };
  expect(refusal(height)).toEqual(['path-unknown', {}]);
  expect(check({ ...height, url: '/datasets/two/height' }).dataset).toBe(solana);
});

test('error: content-type-wrong for a POST, after the limits of the key', () => {
  expect(refusal(stream)).toEqual(['content-type-wrong', { found: 'nothing' }]);
  hasKeys = true;
  const headers = { ...json, 'x-api-key': 'secret' };
  expect(check({ ...stream, headers }).key).toBe(key);
  expect(refusal({ ...stream, headers: { 'x-api-key': 'secret' } })).toEqual([
    'key-limit-reached',
    { requestsPerSecond: 1 },
  ]);
});

test('limit: only a stream counts against the streams of a key', () => {
  hasKeys = true;
  budgets = new KeyBudgets({ ...KEY_LIMITS, streamCountMax: 1 }, new ManualClock());
  const headers = { ...json, 'x-api-key': 'secret' };
  budgets.takeStream(hash);
  expect(refusal({ ...stream, headers })).toEqual(['key-limit-reached', { streamCountMax: 1 }]);
  const estimate = {
    method: 'POST',
    url: '/datasets/one/estimate',
    route: '/datasets/:name/estimate',
  };
  expect(check({ ...estimate, headers }).key).toBe(key);
  expect(check({ ...head, headers }).key).toBe(key);
});

test('behavior: a path is known if a route of any method has it', () => {
  const known = ['/', '/datasets?a', '/datasets/x/stream', '/d%61tasets/x/head'];
  const unknown = ['', '/x', '/datasets/', '/datasets/x', '/datasets/x/stream/y', '/x/y/stream'];
  expect(known.filter((url) => !isKnownPath(url, routes))).toEqual([]);
  expect(unknown.filter((url) => isKnownPath(url, routes))).toEqual([]);
});
