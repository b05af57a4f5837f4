/**
 * Returns the URL of a worker thread's file. Threads run the built files, even when the code that starts them runs from
 * the sources, as in tests: Node 20 cannot execute TypeScript.
 */
export function workerUrl(importMetaUrl: string, file: string): URL {
  const built = importMetaUrl.replace('/packages/server/src/', '/packages/server/dist/');
  return new URL(file.replace(/\.ts$/, '.js'), built);
}
