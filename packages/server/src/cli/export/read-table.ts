import type { ArrowField } from '@sluice/arrow/arrow-type';
import {
  type ArrowBatch,
  ArrowStreamReader,
  type ArrowValue,
  valuesOf,
} from '@sluice/arrow/ipc-reader';
import { CodedError } from '@sluice/base/errors';
import { ARROW_STREAM_TYPE, COVERED_KEY } from '@sluice/protocol/arrow-table';
import { memberOf, messageOf } from '@sluice/protocol/unknown-value';
import type { Target } from '../target/open-target.ts';
import type { TableRows } from './encode-table.ts';

export interface TableRequest {
  readonly target: Target;
  readonly body: object;
  /** The table and the form of addresses, as parameters. */
  readonly parameters: string;
  readonly first: number;
  readonly last: number;
  readonly signal: AbortSignal;
}

/** Reads the rows of finalized blocks, with both slots included. A response that ends early is continued after the block that it covers. */
export async function readTable(request: TableRequest): Promise<TableRows> {
  const rows = new RowCollector();
  for (;;) {
    const reader = new ArrowStreamReader();
    const before = rows.covered;
    const response = await open(request, before);
    for await (const bytes of response.body ?? [])
      for (const batch of reader.push(bytes)) rows.add(reader.fields ?? [], batch);
    const isNew = rows.covered !== before;
    const isLast = rows.covered !== undefined && rows.covered.number >= request.last;
    // A service that shuts down ends a response early, with the end marker. If no block follows the covered one, the next response is empty.
    if (reader.isEnded && (isLast || !isNew)) return rows.finish(reader.fields ?? []);
    if (!isNew) throw cut(request.target.url);
  }
}

interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

/** Appends the rows of record batches. */
class RowCollector {
  covered: BlockRef | undefined;
  readonly #columns: ArrowValue[][] = [];
  #rowCount = 0;

  add(fields: readonly ArrowField[], { length, columns, dictionary, metadata }: ArrowBatch): void {
    for (const [i, field] of fields.entries()) {
      const column = columns[i];
      if (column === undefined) continue;
      const values = this.#columns[i] ?? [];
      this.#columns[i] = values;
      for (const value of valuesOf(field, column, dictionary)) values.push(value);
    }
    this.#rowCount += length;
    this.covered = JSON.parse(metadata.get(COVERED_KEY) ?? 'null');
  }

  finish(fields: readonly ArrowField[]): TableRows {
    return { fields, columns: this.#columns, rowCount: this.#rowCount };
  }
}

const cut = (url: string) =>
  new CodedError('service-unreachable', { url, reason: 'the response was cut' });

function unreachable(url: string, cause: unknown, signal: AbortSignal): CodedError {
  if (signal.aborted) return new CodedError('query-interrupted', {}, { cause });
  return new CodedError('service-unreachable', { url, reason: messageOf(cause) }, { cause });
}

async function open(
  { target, body, parameters, first, last, signal }: TableRequest,
  resume: BlockRef | undefined,
): Promise<Response> {
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
      },
      body: JSON.stringify({ ...body, fromBlock: from, toBlock: last, ...parent }),
      signal,
    });
  } catch (error) {
    throw unreachable(url, error, signal);
  }
  if (response.status === 200) return response;
  const error = memberOf(await response.json().catch(() => undefined), 'error');
  const [code, message] = [memberOf(error, 'code'), memberOf(error, 'message')];
  throw new CodedError('service-refused', {
    ...{ url, status: response.status },
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  });
}
