/** A cursor in a file, for Node, Deno and Bun. */
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Cursor, type CursorState, parseCursorState } from './stream/cursor.ts';

/**
 * Returns a cursor that is stored in a file. The file is replaced atomically after each batch. After a crash between the work and the
 * save, the last blocks are delivered again. A rollback is saved before it is delivered. So a consumer must remove everything above the
 * cursor's last block when it starts.
 */
export function fileCursor(path: string): Required<Cursor> {
  return {
    load: async () => {
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      return text === undefined ? undefined : parseCursorState(parseJson(text));
    },
    save: async (state: CursorState) => {
      const draft = `${path}.new`;
      const file = await open(draft, 'w');
      try {
        await file.writeFile(`${JSON.stringify(state)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
      await syncFolder(dirname(path));
    },
  };
}

/** Makes a rename durable. Windows cannot open a folder, and makes a rename durable by itself. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A text that is not JSON is reported as `cursor-invalid`, with the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
