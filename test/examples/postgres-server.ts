import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Database } from './database.ts';

/** The folder with the programs of Debian's package, of the newest installed version. */
function findPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return undefined;
  const versions = readdirSync(root).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(root, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
}

const programs = findPrograms();
export const hasPostgres = programs !== undefined;

/** The server refuses to run as root. */
function findUser(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface PostgresServer extends Database {
  /** Kills the server with SIGKILL and starts it again. */
  restart(): Promise<void>;
}

/** Starts a real PostgreSQL server in its own folder, or with its data in a given one. */
export async function startPostgres(parent = tmpdir()): Promise<PostgresServer> {
  const bin = programs ?? '';
  const user = findUser();
  const folder = mkdtempSync(join(parent, 'sluice-postgres-'));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, stdio: 'ignore', cwd: folder } as const;
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'],
    options,
  );
  const port = await findFreePort();
  const args = ['-D', data, '-p', String(port), '-k', folder, '-h', '127.0.0.1', '-F'];
  const start = () => spawn(join(bin, 'postgres'), args, options);
  let server = start();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const sql = postgres(url, { onnotice: () => undefined, max: 1 });
  const waitUntilReady = async () => {
    for (;;) {
      const isReady = await sql`select 1`.then(
        () => true,
        () => false,
      );
      if (isReady) return;
      // After a kill it refuses to start while processes of its predecessor end.
      if (server.exitCode !== null) server = start();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await waitUntilReady();
  return {
    name: 'PostgreSQL',
    url,
    query: async (text) => [...(await sql.unsafe(text))] as Record<string, unknown>[],
    restart: async () => {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      server = start();
      await waitUntilReady();
    },
    close: async () => {
      await sql.end();
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
