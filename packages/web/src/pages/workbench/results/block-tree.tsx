import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { useMemo, useState } from 'preact/hooks';
import { plural } from '../../../base/format.ts';
import { writeJson } from '../../../base/write-json.ts';
import { VirtualList } from '../../../components/virtual-list.tsx';
import { toPixels } from '../../../state/rem-pixels.ts';
import type { QueryRun, ResultBlock } from '../run-query.ts';

const rowRem = 2;

interface TreeNode {
  /** The path from the root, which identifies the expanded nodes. */
  readonly key: string;
  readonly depth: number;
  readonly label: string;
  readonly summary: string;
  readonly isBranch: boolean;
}

/** The blocks as a tree that can be expanded level by level. */
export function BlockTree({ run, version }: { readonly run: QueryRun; readonly version: number }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  // A new batch adds blocks.
  const nodes = useMemo(
    () => run.blocks.flatMap((block, i) => listNodes(block, i, open)),
    [run, version, open],
  );
  const toggle = (key: string) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <VirtualList
      class="record-table tree"
      label="Blocks as a tree"
      rowCount={nodes.length}
      rowHeight={toPixels(rowRem)}
      renderRow={(row) => {
        const node = nodes[row];
        if (node === undefined) return null;
        const indent = { paddingLeft: `${0.75 + node.depth * 1.3}rem` };
        return node.isBranch ? (
          <button
            type="button"
            class="tree-row"
            style={indent}
            aria-expanded={open.has(node.key)}
            onClick={() => toggle(node.key)}
          >
            <span class="tree-mark">{open.has(node.key) ? '▾' : '▸'}</span>
            <span class="tree-label">{node.label}</span> <span class="muted">{node.summary}</span>
          </button>
        ) : (
          <span class="tree-row" style={indent}>
            <span class="tree-label">{node.label}</span> <span class="hash">{node.summary}</span>
          </span>
        );
      }}
    />
  );
}

function listNodes(block: ResultBlock, index: number, open: ReadonlySet<string>): TreeNode[] {
  const key = String(index);
  const counts = RECORD_ARRAY_NAMES.flatMap((name) => {
    const { length } = block[name];
    return length === 0 ? [] : [plural(length, name.replace(/s$/, ''), name)];
  });
  const root = {
    key,
    depth: 0,
    label: `block ${block.header.number}`,
    summary: counts.join(', ') || 'header only',
    isBranch: true,
  };
  if (!open.has(key)) return [root];
  const arrays = RECORD_ARRAY_NAMES.filter((name) => block[name].length > 0);
  return [
    root,
    ...listValue('header', block.header, { parent: key, depth: 1, open }),
    ...arrays.flatMap((name) => listValue(name, block[name], { parent: key, depth: 1, open })),
  ];
}

interface Position {
  readonly parent: string;
  readonly depth: number;
  readonly open: ReadonlySet<string>;
}

function listValue(label: string, value: unknown, { parent, depth, open }: Position): TreeNode[] {
  const key = `${parent}.${label}`;
  if (typeof value !== 'object' || value === null) {
    return [{ key, depth, label, summary: writeJson(value), isBranch: false }];
  }
  const members = Object.entries(value);
  const summary = Array.isArray(value)
    ? plural(value.length, 'entry', 'entries')
    : writeJson(value).slice(0, 120);
  const node = { key, depth, label, summary, isBranch: members.length > 0 };
  if (!open.has(key)) return [node];
  const inner = { parent: key, depth: depth + 1, open };
  return [node, ...members.flatMap(([name, member]) => listValue(name, member, inner))];
}
