import type { Finding, SourceFile } from '../source-file.ts';
import { isTestOnly } from '../source-file.ts';

/** Each cycle once, from its first file in alphabetical order. Types count: a cycle of types is one idea in two files. */
export function findCycles(files: readonly SourceFile[]): Finding[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const findings: Finding[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      const cycle = [...trail.slice(start), path].join(' → ');
      findings.push({
        path,
        message: `import cycle ${cycle}: move what both need to a third file`,
      });
      return;
    }
    if (done.has(path)) return;
    for (const { target } of byPath.get(path)?.imports ?? []) {
      if (target !== undefined) visit(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of [...byPath.keys()].sort()) visit(path, []);
  return findings;
}

/** What the first file of a kernel exports is the surface of its WASM module, so there a re-export is no detour. */
const kernelEntry = /^packages\/server\/src\/kernels\/assembly\/[^/]+\.ts$/;

/** The entry file of a published package, which names its public surface. */
const publishedEntry = 'packages/client/src/client.ts';

export function findBarrels(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(({ path, imports }) =>
    imports
      .filter(({ isReExport }) => isReExport && path !== publishedEntry && !kernelEntry.test(path))
      .map(({ line, specifier }) => ({
        path,
        line,
        message: `re-exports ${specifier}: import it where it is defined`,
      })),
  );
}

/** Started or loaded by name, so that nobody imports them. Every file of the protocol is public. */
const entryPoints = [
  /^packages\/protocol\/src\/[^/]+\.ts$/,
  /^packages\/client\/src\/(client|file-cursor)\.ts$/,
  /^packages\/server\/bin\/[^/]+$/,
  /^packages\/server\/src\/cli\/main\.ts$/,
  kernelEntry,
  /^packages\/web\/src\/page\.ts$/,
  /^bench\/run\.ts$/,
  /^examples\/[^/]+\.ts$/,
  /^(test\/node\/)?vitest\.config\.ts$/,
  /^test\/build-once\.ts$/,
  /\.test\.ts$/,
];

export function findDeadFiles(files: readonly SourceFile[]): Finding[] {
  const used = new Set<string>();
  for (const { path, imports, mentioned } of files) {
    const targets = [...imports.map(({ target }) => target), ...mentioned];
    for (const target of targets) if (target !== undefined && target !== path) used.add(target);
  }
  return files
    .filter(({ path }) => !used.has(path) && !entryPoints.some((pattern) => pattern.test(path)))
    .map(({ path }) => ({
      path,
      message: isTestOnly(path)
        ? 'no test imports it: delete it'
        : 'nobody imports it: delete it, or list it as an entry point in test/tidy/rules/imports.ts',
    }));
}
