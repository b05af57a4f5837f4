import { formatInteger } from '../../base/format.ts';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { TableScroll } from '../../components/table-scroll.tsx';
import { useTitle } from '../../components/use-title.ts';
import { watchedFetch } from '../../state/connection.ts';
import { useResource } from '../../state/use-resource.ts';

interface OpenApi {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>;
  readonly 'x-limits': Readonly<Record<string, number>>;
  readonly 'x-errors': readonly {
    readonly code: string;
    readonly status: number;
    readonly text: string;
  }[];
}

/** The interface of this service: its addresses, the limits in effect and its errors, from its OpenAPI description. */
export function ServiceReference() {
  useTitle('Documentation');
  const loaded = useResource('openapi', async (signal) => {
    const response = await watchedFetch('/openapi.json', { signal });
    return (await response.json()) as OpenApi;
  });
  return (
    <article class="prose">
      <h1>This service</h1>
      <p>
        Blocks of a ledger, filtered, as JSON lines. Send a <a href="/docs/query">query</a> with
        POST to a dataset’s stream; <a href="/docs/http">the interface</a> explains statuses,
        headers and following, <a href="/docs/guide">the guide</a> shows how to write a consumer,
        and the <a href="/docs/client">client library</a> implements one. The interface as data:{' '}
        <a href="/openapi.json">openapi.json</a>.
      </p>
      {loaded.kind === 'loading' && <Skeleton lines={12} />}
      {loaded.kind === 'failed' && <ErrorNotice error={loaded.error} retry={loaded.retry} />}
      {loaded.kind === 'ready' && <Reference description={loaded.value} />}
    </article>
  );
}

function Reference({ description }: { readonly description: OpenApi }) {
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary }]) => ({
      path,
      method: method.toUpperCase(),
      summary,
    })),
  );
  return (
    <>
      <p class="muted">Version {description.info.version}</p>
      <h2 id="addresses">Addresses</h2>
      <Table
        heads={['Method', 'Path', 'Response']}
        rows={operations.map(({ method, path, summary }) => [
          <code key="m">{method}</code>,
          <code key="p">{path}</code>,
          summary,
        ])}
      />
      <h2 id="keys">Keys</h2>
      <p>
        If keys are configured, send one as <code>Authorization: Bearer K</code> or{' '}
        <code>X-API-Key: K</code>, never in an address. The pages of this application and{' '}
        <code>/openapi.json</code> need no key. <a href="/docs/http#keys">More about keys</a>
      </p>
      <h2 id="limits">Limits in effect</h2>
      <Table
        heads={['Limit', 'Value', 'Meaning']}
        rows={limitTexts.map(([name, text]) => [
          <code key="n">{name}</code>,
          formatInteger(description['x-limits'][name] ?? 0),
          text,
        ])}
      />
      <h2 id="errors">Errors</h2>
      <Table
        heads={['Status', 'Code', 'Meaning']}
        rows={description['x-errors']
          .toSorted((a, b) => a.status - b.status)
          .map(({ status, code, text }) => [String(status), <code key="c">{code}</code>, text])}
      />
    </>
  );
}

interface TableProps {
  readonly heads: readonly string[];
  readonly rows: readonly (readonly (string | preact.JSX.Element)[])[];
}

function Table({ heads, rows }: TableProps) {
  return (
    <TableScroll>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            // The rows never change their order, so the index is a stable key.
            <tr key={row}>
              {cells.map((cell, column) => (
                // The same holds for the columns.
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** The limits that affect clients, in the order of the documentation. */
const limitTexts: readonly (readonly [string, string])[] = [
  ['bodyBytesMax', 'bytes of a body, on the wire and decoded'],
  ['depthMax', 'levels of objects and arrays'],
  ['itemCountMax', 'items of all arrays together'],
  ['listValueCountMax', 'values of one list'],
  ['valueCountMax', 'values of all lists together'],
  ['headerBytesMax', 'bytes of headers'],
  ['headersMsMax', 'milliseconds for the headers to arrive'],
  ['requestMsMax', 'milliseconds for a whole request to arrive'],
  ['stallMsMax', 'milliseconds after which a reader that takes no byte is disconnected'],
  ['connectionCountMax', 'connections'],
  ['streamCountMax', 'open streams'],
];
