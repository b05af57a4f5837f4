import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@sluice/base/clock';
import { pino } from 'pino';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { loadConfig } from '../config/load-config.ts';
import { Service } from '../service.ts';

export interface Portal {
  /** The URL of its only dataset. */
  readonly url: string;
  /** The listener for operators. */
  readonly adminUrl: string;
  close(): Promise<void>;
}

/** Starts a Sluice that serves a dataset over real sockets. The data folder is needed only to store sets of addresses. */
export async function startPortal(reader: DatasetReader, data = './data'): Promise<Portal> {
  const overrides = { data, listen: { port: 0 }, admin: { port: 0 } };
  const { config } = loadConfig({ overrides }, {});
  const service = await Service.start(
    { config, keys: null, version: '0.0.0-test' },
    { clock: systemClock, log: pino({ level: 'silent' }) },
  );
  const { name, aliases } = reader.description;
  service.expect({ name, aliases, dialects: ['ledger'] });
  service.open(name, { reader, isFed: true, ingest: () => null });
  const url = `http://127.0.0.1:${service.port}/datasets/${name}`;
  const adminUrl = `http://127.0.0.1:${service.adminPort}`;
  return { url, adminUrl, close: () => service.close() };
}

export interface Meddling {
  /** Changes a line of a stream. Undefined ends the response in the middle of the line. */
  line?: (line: string) => string | undefined;
  /** Changes a short response. */
  body?: (path: string, body: string) => string;
  status?: number;
  /** Receives each request. Returns the headers of a response with the status 429 in place of the portal's. */
  refuse?: (path: string) => Readonly<Record<string, string>> | undefined;
}

/** Starts a proxy between a portal and its reader that changes the data. */
export async function startMeddler(
  portal: string,
  meddling: Meddling,
): Promise<Omit<Portal, 'adminUrl'>> {
  const { origin, pathname } = new URL(portal);
  const server = createServer((incoming, outgoing) => {
    const { url = '/', method, headers } = incoming;
    const refused = meddling.refuse?.(url.slice(pathname.length));
    if (refused !== undefined) {
      incoming.resume();
      outgoing.writeHead(429, refused).end('{}');
      return;
    }
    const forward = request(`${origin}${url}`, { method, headers }, (answer) => {
      const status = meddling.status ?? answer.statusCode ?? 500;
      const { 'content-length': _length, ...rest } = answer.headers;
      outgoing.writeHead(status, rest);
      const isStream = rest['content-type'] === 'application/jsonl';
      let text = '';
      const encoding = rest['content-type'] === 'application/octet-stream' ? 'latin1' : 'utf8';
      answer.setEncoding(encoding);
      answer.on('data', (chunk: string) => {
        text += chunk;
        for (let end = text.indexOf('\n'); isStream && end >= 0; end = text.indexOf('\n')) {
          const line = text.slice(0, end);
          text = text.slice(end + 1);
          const changed = meddling.line === undefined ? line : meddling.line(line);
          if (changed === undefined) {
            outgoing.write(line.slice(0, line.length / 2), () => outgoing.destroy());
            answer.destroy();
            return;
          }
          outgoing.write(`${changed}\n`);
        }
      });
      answer.on('end', () => {
        const body = isStream ? text : (meddling.body?.(url, text) ?? text);
        outgoing.end(Buffer.from(body, encoding));
      });
      answer.on('error', () => outgoing.destroy());
    });
    outgoing.on('close', () => forward.destroy());
    forward.on('error', () => outgoing.destroy());
    incoming.pipe(forward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${pathname}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
