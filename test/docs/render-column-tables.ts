/** Renders the tables of docs/segment-format.md from the tables of the source and their comments. */
import { readFileSync } from 'node:fs';
import {
  BLOCK_COLUMN_NAMES,
  BLOCK_COLUMNS,
} from '../../packages/server/src/segment/layout/block-columns.ts';
import { SECTIONS, shapeOf } from '../../packages/server/src/segment/layout/columns.ts';
import { SECTION_COLUMNS } from '../../packages/server/src/segment/layout/section-layout.ts';

const folder = new URL('../../packages/server/src/segment/layout/', import.meta.url);

/** Returns the comment after each column. */
function commentsOf(file: string): ReadonlyMap<string, string> {
  const lines = readFileSync(new URL(file, folder), 'utf8').split('\n');
  const found = lines.map((line) => /^ {2}(\w+): .*?(?: \/\/ (.*))?$/.exec(line));
  return new Map(
    found.flatMap((match) => (match === null ? [] : [[String(match[1]), match[2] ?? '']])),
  );
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

export function renderColumns(): string {
  const comments = commentsOf('columns.ts');
  const sections = SECTIONS.map((section, number) => {
    const rows = (SECTION_COLUMNS[number] ?? []).map((name) => {
      const { id, domain, coding, adds, unit } = shapeOf(name);
      const coded = unit === undefined || unit === 1 ? coding : `${coding} of ${unit}`;
      return [`\`${name}\``, String(id), domain, coded, adds ?? '', comments.get(name) ?? ''];
    });
    const head = ['Column', 'Id', 'Domain', 'Coding', 'Counts', ''];
    return `Section ${number}, \`${section}\`:\n\n${table(head, rows)}`;
  });
  return sections.join('\n\n');
}

export function renderBlockColumns(): string {
  const comments = commentsOf('block-columns.ts');
  const rows = BLOCK_COLUMN_NAMES.map((name) => {
    const { id, type } = BLOCK_COLUMNS[name];
    return [`\`${name}\``, String(id), type, comments.get(name) ?? ''];
  });
  return table(['Column', 'Id', 'Type', ''], rows);
}
