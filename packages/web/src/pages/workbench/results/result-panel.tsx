import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { useState } from 'preact/hooks';
import { formatInteger } from '../../../base/format.ts';
import { Menu } from '../../../components/menu.tsx';
import { Notice } from '../../../components/notice.tsx';
import { Segmented } from '../../../components/segmented.tsx';
import type { QueryRun } from '../run-query.ts';
import { BlockTree } from './block-tree.tsx';
import { JsonLines } from './json-lines.tsx';
import { RecordTable } from './record-table.tsx';
import type { TableName } from './result-table.ts';
import { RunSummary } from './run-summary.tsx';
import { writeCsv, writeLines } from './write-results.ts';

type ViewName = 'table' | 'tree' | 'json';

interface ResultPanelProps {
  readonly dataset: string;
  readonly run: QueryRun;
  /** Incremented with every batch. */
  readonly version: number;
}

export function ResultPanel({ dataset, run, version }: ResultPanelProps) {
  const [view, setView] = useState<ViewName>('table');
  const [wanted, setWanted] = useState<TableName | undefined>(undefined);
  const tables = listTables(run);
  const table =
    tables.find(({ name }) => name === wanted) ??
    tables.find(({ count }) => count > 0) ??
    tables[0];
  return (
    <section class="panel results" aria-label="Results">
      <div class="panel-head">
        <RunSummary run={run} />
        <div class="row">
          <Segmented
            label="How to show the results"
            value={view}
            options={[
              ['table', 'Table'],
              ['tree', 'Tree'],
              ['json', 'JSON'],
            ]}
            onChange={setView}
          />
          <DownloadMenu run={run} table={table?.name ?? 'blocks'} />
        </div>
      </div>
      {run.blocks.length === 0 ? (
        <EmptyResult run={run} />
      ) : view === 'table' ? (
        <>
          <RecordTabs tables={tables} selected={table?.name} onSelect={setWanted} />
          <RecordTable
            dataset={dataset}
            run={run}
            table={table?.name ?? 'blocks'}
            version={version}
          />
        </>
      ) : view === 'tree' ? (
        <BlockTree run={run} version={version} />
      ) : (
        <JsonLines run={run} version={version} />
      )}
    </section>
  );
}

interface ListedTable {
  readonly name: TableName;
  readonly count: number;
}

interface RecordTabsProps {
  readonly tables: readonly ListedTable[];
  readonly selected: TableName | undefined;
  readonly onSelect: (name: TableName) => void;
}

/** Tabs with a single tab stop. The arrow keys move between them. */
function RecordTabs({ tables, selected, onSelect }: RecordTabsProps) {
  const move = (event: KeyboardEvent, step: number) => {
    const index = tables.findIndex(({ name }) => name === selected) + step;
    const next = tables[(index + tables.length) % tables.length];
    const buttons = (event.currentTarget as HTMLElement).querySelectorAll('button');
    if (next === undefined) return;
    event.preventDefault();
    onSelect(next.name);
    buttons[tables.indexOf(next)]?.focus();
  };
  return (
    <div
      class="tabs"
      role="tablist"
      aria-label="Kinds of records"
      onKeyDown={(event) => {
        if (event.key === 'ArrowRight') move(event, 1);
        if (event.key === 'ArrowLeft') move(event, -1);
      }}
    >
      {tables.map(({ name, count }) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {name}
          <span class="count">{formatInteger(count)}</span>
        </button>
      ))}
    </div>
  );
}

/** Returns the kinds that have records, and the headers. */
function listTables(run: QueryRun): readonly ListedTable[] {
  const kinds = RECORD_ARRAY_NAMES.map((name) => ({ name, count: run.records[name].length }));
  return [...kinds.filter(({ count }) => count > 0), { name: 'blocks', count: run.blocks.length }];
}

function EmptyResult({ run }: { readonly run: QueryRun }) {
  switch (run.state.kind) {
    case 'running':
      return (
        <Notice title="Waiting for the first block" slim>
          <p>A query that starts at the head waits for the next block.</p>
        </Notice>
      );
    case 'failed':
      return null;
    case 'finished':
      return (
        <Notice title="The range has no blocks" slim>
          <p>Every slot of it was skipped.</p>
        </Notice>
      );
    default:
      return <Notice title="Stopped before the first block" slim />;
  }
}

interface DownloadMenuProps {
  readonly run: QueryRun;
  readonly table: TableName;
}

/** Saves the results that the page has in memory. */
function DownloadMenu({ run, table }: DownloadMenuProps) {
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
