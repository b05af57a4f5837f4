/** The small answers: heads, metadata, status, time and the description of the interface. */
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { assert } from '../base/assert.ts';
import { CodedError } from '../base/errors.ts';
import { findBlockAtTime } from '../chain/find-blocks.ts';
import { buildMetadata, buildStatus, type MetadataBody } from './describe-dataset.ts';
import type { HttpLimits } from './http-limits.ts';
import { buildOpenApi } from './openapi.ts';
import type { RouteRow } from './request-checks.ts';
import type { DatasetDirectory, DatasetEntry, ServedDataset } from './served-dataset.ts';

export interface GetContext {
  readonly datasets: DatasetDirectory;
  readonly limits: HttpLimits;
  readonly queryLimits: QueryLimits;
  readonly version: string;
}

export interface GetRequest {
  readonly dataset: DatasetEntry | null;
  readonly params: unknown;
}

export interface GetAnswer {
  readonly type: string;
  readonly body: string;
}

type Answer = (request: GetRequest) => GetAnswer | Promise<GetAnswer>;

export interface GetRoute extends RouteRow {
  readonly method: 'GET';
  readonly build: (context: GetContext) => Answer;
}

const peer = { method: 'GET', dialect: 'solana' } as const;

export const GET_ROUTES: readonly GetRoute[] = [
  { method: 'GET', url: '/openapi.json', isOpen: true, build: serveOpenApi },
  { method: 'GET', url: '/datasets', build: serveList },
  { method: 'GET', url: '/datasets/:name/metadata', build: ofDataset(serveMetadata) },
  { method: 'GET', url: '/datasets/:name/head', build: ofDataset(serveHead) },
  { method: 'GET', url: '/datasets/:name/finalized-head', build: ofDataset(serveFinalizedHead) },
  { method: 'GET', url: '/datasets/:name/status', build: ofDataset(serveStatus) },
  {
    method: 'GET',
    url: '/datasets/:name/timestamps/:seconds/block',
    build: ofDataset(serveBlockAtTime),
  },
  // Addresses that clients of the dialect `solana` know beside these.
  { ...peer, url: '/datasets/:name', build: ofDataset(serveMetadata) },
  { ...peer, url: '/datasets/:name/height', build: ofDataset(serveHeight) },
  { ...peer, url: '/datasets/:name/finalized-stream/height', build: ofDataset(serveHeight) },
  { ...peer, url: '/datasets/:name/state', build: ofDataset(serveState) },
];

function json(value: unknown): GetAnswer {
  return { type: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

type DatasetAnswer = (
  dataset: ServedDataset,
  request: GetRequest,
) => GetAnswer | Promise<GetAnswer>;

function ofDataset(answer: DatasetAnswer): (context: GetContext) => Answer {
  return () => (request) => {
    assert(request.dataset !== null, 'the checks resolve the dataset of a path');
    return answer(request.dataset.served, request);
  };
}

function serveOpenApi(context: GetContext): Answer {
  return () => json(buildOpenApi(context));
}

function serveList({ datasets }: GetContext): Answer {
  return () => json(listMetadata(datasets));
}

/** Of those that know where they start. */
function listMetadata({ all }: DatasetDirectory): MetadataBody[] {
  return all
    .map(({ reader }) => buildMetadata(reader))
    .filter((metadata) => metadata !== undefined);
}

function serveMetadata({ reader }: ServedDataset): GetAnswer {
  const metadata = buildMetadata(reader);
  if (metadata === undefined) throw new CodedError('dataset-starting');
  return json(metadata);
}

function serveHead({ reader }: ServedDataset): GetAnswer {
  return json(reader.snapshot().head);
}

function serveFinalizedHead({ reader }: ServedDataset): GetAnswer {
  return json(reader.snapshot().finalized);
}

/** The finalized head as a bare number. */
function serveHeight({ reader }: ServedDataset): GetAnswer {
  const { finalized } = reader.snapshot();
  if (finalized === null) throw new CodedError('dataset-starting');
  return { type: 'text/plain; charset=utf-8', body: String(finalized.number) };
}

/** The stored range in the form that such clients show: by worker, of which there is one here. */
function serveState({ reader }: ServedDataset): GetAnswer {
  const { start, head } = reader.snapshot();
  const ranges = start === null || head === null ? [] : [{ begin: start, end: head.number }];
  const { name } = reader.description;
  return json({ worker_ranges: { [name]: { ranges } }, height: head?.number ?? null });
}

function serveStatus(dataset: ServedDataset): GetAnswer {
  return json(buildStatus(dataset));
}

async function serveBlockAtTime(
  { reader }: ServedDataset,
  { params }: GetRequest,
): Promise<GetAnswer> {
  const { seconds } = params as { readonly seconds: string };
  // Any whole number is a time, however far off; a path has no more digits than are quickly read.
  if (!/^-?\d+$/.test(seconds)) throw new CodedError('time-invalid', { path: 'seconds' });
  const lease = reader.acquire();
  try {
    const readHeaders = reader.readHeaders.bind(reader);
    const header = await findBlockAtTime(lease.snapshot, BigInt(seconds), readHeaders);
    if (header === undefined) throw new CodedError('time-not-reached', { path: 'seconds' });
    return json({ block_number: header.number });
  } finally {
    lease.release();
  }
}
