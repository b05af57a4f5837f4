/**
 * Returns the URL of a worker thread's file or of a kernel. Threads run the built files, even when the code that starts them runs from
 * the sources, as in tests: Node 20 cannot execute TypeScript.
 */
export function workerUrl(importMetaUrl: string, file: string): URL {
  const built = importMetaUrl.replace(/\/packages\/(\w+)\/src\//, '/packages/$1/dist/');
  return new URL(file.replace(/\.ts$/, '.js'), built);
}
