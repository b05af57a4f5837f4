import { Menu } from '../../../components/menu.tsx';
import type { QueryRun } from '../run-query.ts';
import type { TableName } from './result-table.ts';
import { writeCsv, writeLines } from './write-results.ts';

interface DownloadMenuProps {
  readonly run: QueryRun;
  readonly table: TableName;
}

/** Saves the results that the page has in memory. */
export function DownloadMenu({ run, table }: DownloadMenuProps) {
  return (
    <Menu
      title="Download"
      isDisabled={run.blocks.length === 0}
      entries={[
        ['JSON lines', () => save('results.jsonl', 'application/jsonl', writeLines(run))],
        [`CSV of ${table}`, () => save(`${table}.csv`, 'text/csv', writeCsv(run, table))],
      ]}
    />
  );
}

function save(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
