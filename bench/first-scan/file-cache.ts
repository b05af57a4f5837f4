import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';

const script = `import os, sys
for path in sys.argv[1:]:
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)`;

const readBytes = 1 << 20;

/** Reads files into the page cache, because some systems evict files that were not used for a few seconds. */
export function loadFileCache(paths: readonly string[]): void {
  const buffer = Buffer.alloc(readBytes);
  for (const path of paths) {
    const file = openSync(path, 'r');
    while (readSync(file, buffer) > 0);
    closeSync(file);
  }
}

/** Removes files from the system's page cache. Returns false if that is impossible. */
export function dropFileCache(paths: readonly string[]): boolean {
  try {
    execFileSync('python3', ['-c', script, ...paths], { stdio: 'ignore' });
    return true;
  } catch {
    return dropAllCaches();
  }
}

/** Only the root user may do this. */
function dropAllCaches(): boolean {
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '3');
    return true;
  } catch {
    return false;
  }
}
