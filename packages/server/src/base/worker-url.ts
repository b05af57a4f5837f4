/**
 * Where a worker thread's file is. Threads run the built files, also when the code that starts them runs from the
 * sources, as in tests: Node 20 cannot execute TypeScript.
 */
export function workerUrl(importMetaUrl: string, file: string): URL {
  const built = importMetaUrl.replace('/packages/server/src/', '/packages/server/dist/');
  return new URL(file.replace(/\.ts$/, '.js'), built);
}
