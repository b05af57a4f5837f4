import type { Finding, SourceFile } from '../source-file.ts';
import { isTestOnly } from '../source-file.ts';

/**
 * Finds each cycle once, starting from its first file in alphabetical order. Type imports count, because a cycle of
 * types is one concept spread over two files.
 */
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

/** The exports of a kernel's entry file are the interface of its WebAssembly module, so it may re-export. */
const kernelEntry = /^packages\/(?:kernels\/src|simulator\/src\/kernels)\/assembly\/[^/]+\.ts$/;

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

/** Files that are started or loaded by name instead of being imported. Every file of the protocol is public. */
const entryPoints = [
  /^packages\/protocol\/src\/[^/]+\.ts$/,
  /^packages\/client\/src\/(client|file-cursor)\.ts$/,
  /^packages\/server\/bin\/[^/]+$/,
  /^packages\/server\/src\/cli\/main\.ts$/,
  kernelEntry,
  /^packages\/web\/(src\/main\.tsx|vite\.config\.ts)$/,
  /^bench\/run\.ts$/,
  /^examples\/[^/]+\.ts$/,
  /^(test\/(bench|browser|client|cluster|node|service|simulator|slow|tidy)\/)?vitest\.config\.ts$/,
  /^test\/(build-once|browser\/take-screenshots|cluster\/install-servers)\.ts$/,
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
        : 'no file imports it: delete it, or list it as an entry point in test/tidy/rules/imports.ts',
    }));
}
