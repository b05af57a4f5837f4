/** Writes a query as a program: for a shell, for TypeScript with the client library, for Python without a library, and the command for a database. */
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { filterRows, replacedRows } from '@sluice/protocol/request-table';
import { hasMembers } from '@sluice/protocol/unknown-value';
import { formatQuery, type JsonObject } from './query-model.ts';

export interface ProgramTarget {
  /** The address of the dataset. */
  readonly url: string;
  /** Whether the service requires a key. The key itself is never part of the program. */
  readonly hasKey: boolean;
}

export function writeCurl(query: JsonObject, { url, hasKey }: ProgramTarget): string {
  const key = hasKey ? ` \\\n  -H "Authorization: Bearer $SLUICE_KEY"` : '';
  const body = formatQuery(query).replaceAll("'", "'\\''");
  return `curl -N --compressed -H 'Content-Type: application/json'${key} \\\n  ${url}/stream -d '${body}'\n`;
}

export function writeTypeScript(query: JsonObject, { url, hasKey }: ProgramTarget): string {
  const key = hasKey ? `,\n  key: process.env['SLUICE_KEY'] ?? ''` : '';
  return `import { createClient } from '@sluice/client';

const client = createClient({
  url: '${url}'${key},
});
const query = ${formatQuery(query)} as const;

for await (const batch of client.stream(query)) {
  if (batch.kind === 'rollback') console.log('the ledger forked: undo everything above', batch.to.number);
  else for (const block of batch.blocks) console.log(block);
}
`;
}

/** JSON and Python differ only in three words, and Python parses integers of any size. */
export function writePython(query: JsonObject, { url, hasKey }: ProgramTarget): string {
  const key = hasKey ? `\n    "Authorization": "Bearer " + os.environ["SLUICE_KEY"],` : '';
  return `import json${hasKey ? '\nimport os' : ''}
import urllib.request

query = json.loads("""${formatQuery(query).replaceAll('\\', '\\\\')}""")
request = urllib.request.Request(
    "${url}/stream",
    data=json.dumps(query).encode(),
    headers={"Content-Type": "application/json",${key}},
)
# The service may end a response at any line. To resume, send fromBlock = last number + 1
# and parentBlockHash = the hash of that block.
with urllib.request.urlopen(request) as response:
    for line in response:
        block = json.loads(line)
        print(block["header"]["number"], block)
`;
}

/** The targets of `sluice sync`, with an address to change. */
export const SYNC_TARGETS = {
  PostgreSQL: 'postgres://127.0.0.1/mine',
  DuckDB: 'duckdb:ledger.duckdb',
  NATS: 'nats://127.0.0.1:4222/ledger',
  Parquet: 'parquet:./tables',
} as const;

/**
 * Writes the command that keeps a table for each kind of selected records. A table has no related records, so the flags for them are left
 * out. Returns undefined if the query selects no records.
 */
export function writeSync(
  query: JsonObject,
  { url, hasKey }: ProgramTarget,
  to: keyof typeof SYNC_TARGETS,
): string | undefined {
  const tables = RECORD_ARRAY_NAMES.flatMap((array) => {
    const items = query[array];
    if (!Array.isArray(items)) return [];
    const known = new Set([...filterRows(array), ...replacedRows(array)].map(([name]) => name));
    const filtered = items.filter(hasMembers).map((item) => {
      const filters = Object.entries(item).filter(([name]) => known.has(name));
      return Object.fromEntries(filters);
    });
    const name = array === 'tokenBalances' ? 'token_balances' : array;
    return [[name, { fromBlock: query['fromBlock'], [array]: filtered }]];
  });
  if (tables.length === 0) return undefined;
  const file = JSON.stringify({ tables: Object.fromEntries(tables) }, null, 2);
  const key = hasKey ? 'SLUICE_KEY=$SLUICE_KEY ' : '';
  const last = query['toBlock'];
  const end = typeof last === 'number' ? ` --to-block ${last}` : '';
  return `cat > tables.yaml <<'END'
${file}
END
${key}npx sluice sync ${url} --to ${SYNC_TARGETS[to]} --tables tables.yaml${end}
`;
}
