import { posix } from 'node:path';
import type { Finding, RepositoryFile } from '../source-file.ts';

export interface ErrorEntry {
  readonly text: string;
  readonly status?: number;
}

/** Checks that `docs/errors.md` has exactly one table row per code, `| \`code\` | status | …`. */
export function findErrorFaults(
  { path, text }: RepositoryFile,
  catalogue: Readonly<Record<string, ErrorEntry>>,
): Finding[] {
  const rows = new Map<string, string>();
  for (const [, code = '', status = ''] of text.matchAll(/^\| `([a-z0-9-]+)` \| ([^|]*) \|/gm)) {
    rows.set(code, status.trim());
  }
  const findings: Finding[] = [];
  for (const [code, row] of Object.entries(catalogue)) {
    const status = row.status === undefined ? '–' : String(row.status);
    const wanted = `| \`${code}\` | ${status} | ${row.text} |`;
    if (!rows.has(code)) findings.push({ path, message: `lacks ${code}: add the row ${wanted}` });
    else if (rows.get(code) !== status)
      findings.push({ path, message: `${code} has the status ${status} in the catalogue` });
  }
  for (const code of rows.keys()) {
    if (!Object.hasOwn(catalogue, code))
      findings.push({ path, message: `${code} is not in the catalogue: remove its row` });
  }
  return findings;
}

export interface CommandEntry {
  /** As typed after `sluice`: `simulate`, `dataset list`. */
  readonly name: string;
  /** Long options, `--seed`. */
  readonly options: readonly string[];
}

/** Checks that `docs/cli.md` has a heading `## sluice <name>` for every command, and every option below it. */
export function findCommandFaults(
  { path, text }: RepositoryFile,
  commands: readonly CommandEntry[],
): Finding[] {
  const sections = new Map<string, string>();
  for (const section of text.split(/^## /m).slice(1)) {
    const name = /^`?sluice ([a-z -]+?)`?\n/.exec(section)?.[1];
    if (name !== undefined) sections.set(name, section);
  }
  const findings: Finding[] = [];
  for (const { name, options } of commands) {
    const section = sections.get(name);
    if (section === undefined) {
      findings.push({
        path,
        message: `lacks the heading "## sluice ${name}": describe the command`,
      });
      continue;
    }
    for (const option of options) {
      if (!new RegExp(`${option}(?![\\w-])`).test(section))
        findings.push({ path, message: `sluice ${name} lacks its option ${option}` });
    }
  }
  const known = new Set(commands.map(({ name }) => name));
  for (const name of sections.keys()) {
    if (!known.has(name)) findings.push({ path, message: `there is no command sluice ${name}` });
  }
  return findings;
}

const ownPath = /`((?:packages|test|bench|docs|\.ci)\/[\w./-]*\w)`/g;
const link = /\]\(([^)#\s]+)(?:#[^)]*)?\)/g;

/** Checks that links and paths in pages exist. A path may be a folder. */
export function findBrokenLinks(files: readonly RepositoryFile[]): Finding[] {
  const known = knownPaths(files);
  return files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) => {
      const linked = [...text.matchAll(link)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .map((target) => posix.join(posix.dirname(path), target).replace(/\/$/, ''));
      const named = [...text.matchAll(ownPath)].map(([, target = '']) => target);
      return [...linked, ...named]
        .filter((target) => !known.has(target))
        .map((target) => ({ path, message: `refers to ${target}, which does not exist` }));
    });
}

/** Checks that pages to which sources refer exist. */
export function findBrokenReferences(files: readonly RepositoryFile[]): Finding[] {
  const known = knownPaths(files);
  return files
    .filter(({ path }) => /^(packages|bench)\/.*\.(tsx?|js)$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)]
        .filter(([page]) => !known.has(page))
        .map(([page]) => ({ path, message: `refers to ${page}, which does not exist` })),
    );
}

/** Returns every file and every folder that contains one. */
function knownPaths(files: readonly RepositoryFile[]): Set<string> {
  const known = new Set<string>();
  for (const { path } of files) {
    for (let at = path; at !== '.'; at = posix.dirname(at)) known.add(at);
  }
  return known;
}
