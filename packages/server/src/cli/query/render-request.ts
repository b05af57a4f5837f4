/** Renders a query as code that sends the same request. */
import type { QueryBody } from '@sluice/protocol/query-body';

export interface RenderedRequest {
  /** The address of the dataset: `http://HOST/datasets/NAME`. */
  readonly url: string;
  readonly query: QueryBody;
  readonly finalized: boolean;
  /** Whether the service requires a key, which the code reads from SLUICE_KEY. */
  readonly hasKey: boolean;
}

export function renderCurl({ url, query, finalized, hasKey }: RenderedRequest): string {
  const path = finalized ? 'finalized-stream' : 'stream';
  const key = hasKey ? ` -H "Authorization: Bearer $SLUICE_KEY"` : '';
  return `curl -N --compressed -H 'Content-Type: application/json'${key} ${quote(`${url}/${path}`)} -d ${quote(JSON.stringify(query))}\n`;
}

function quote(text: string): string {
  if (/^[\w:/.@%+=-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function renderTypeScript({ url, query, finalized, hasKey }: RenderedRequest): string {
  const options = hasKey
    ? `{ url: ${JSON.stringify(url)}, key: process.env.SLUICE_KEY }`
    : `{ url: ${JSON.stringify(url)} }`;
  const body = JSON.stringify(query, null, 2).replaceAll(/^(\s*)"([A-Za-z]\w*)":/gm, '$1$2:');
  return `import { createClient } from '@sluice/client';

const client = createClient(${options});
const query = ${body} as const;

for await (const batch of client.stream(query${finalized ? ', { finalized: true }' : ''})) {
  if (batch.kind === 'rollback') {
    console.log('rolled back to', batch.to.number);
    continue;
  }
  for (const block of batch.blocks) console.log(block.header.number, block);
}
`;
}
