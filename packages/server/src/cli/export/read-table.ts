import type { ArrowField } from '@sluice/arrow/arrow-type';
import { type ArrowBatch, ArrowStreamReader } from '@sluice/arrow/ipc-reader';
import { CodedError } from '@sluice/base/errors';
import { ARROW_STREAM_TYPE, COVERED_KEY } from '@sluice/protocol/arrow-table';
import { localHeaders } from '../query/run-query.ts';
import { refused, unreachable } from '../target/get-json.ts';
import type { Target } from '../target/open-target.ts';

export interface TableRequest {
  readonly target: Target;
  readonly body: object;
  /** The table and the form of addresses, as parameters. */
  readonly parameters: string;
  readonly first: number;
  readonly last: number;
  /** The block after which to start, instead of `first`. */
  readonly after?: BlockRef | undefined;
  readonly signal: AbortSignal;
}

export interface TableBatch {
  readonly fields: readonly ArrowField[];
  readonly batch: ArrowBatch;
  /** All rows up to this block have been read. */
  readonly covered: BlockRef;
}

/** Yields the record batches of finalized blocks. A response that ends early is continued after the block that it covers. */
export async function* readBatches(request: TableRequest): AsyncGenerator<TableBatch> {
  let covered = request.after;
  while (covered === undefined || covered.number < request.last) {
    const reader = new ArrowStreamReader();
    const before = covered;
    for await (const bytes of await open(request, before))
      for (const batch of reader.push(bytes)) {
        const block: BlockRef = JSON.parse(batch.metadata.get(COVERED_KEY) ?? 'null');
        covered = block;
        yield { fields: reader.fields ?? [], batch, covered: block };
      }
    const isNew = covered !== before;
    const isLast = covered !== undefined && covered.number >= request.last;
    // A service that shuts down ends a response early, with the end marker. If no block follows the covered one, the next response is empty.
    if (reader.isEnded && (isLast || !isNew)) return;
    if (!isNew) throw cut(request.target.url);
  }
}

interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

const cut = (url: string) =>
  new CodedError('service-unreachable', { url, reason: 'the response was cut' });

async function open(request: TableRequest, resume: BlockRef | undefined) {
  const { target, body, parameters, first, last, signal } = request;
  const { url, key } = target;
  const from = resume === undefined ? first : resume.number + 1;
  const parent = resume === undefined ? {} : { parentBlockHash: resume.hash };
  let response: Response;
  try {
    response = await fetch(`${url}/finalized-stream?${parameters}`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', accept: ARROW_STREAM_TYPE },
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...localHeaders(url),
      },
      body: JSON.stringify({ ...body, fromBlock: from, toBlock: last, ...parent }),
      signal,
    });
  } catch (error) {
    throw unreachable(url, error, signal);
  }
  if (response.status === 200) return bodyOf(response, request);
  throw refused(url, response.status, await response.text().catch(() => ''));
}

/** Yields the bytes of a response. A connection that breaks is an error with a code. */
async function* bodyOf({ body }: Response, { target, signal }: TableRequest) {
  try {
    if (body !== null) yield* body;
  } catch (error) {
    throw unreachable(target.url, error, signal);
  }
}
