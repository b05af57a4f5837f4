/** The proxies of docs/operating.md, as programs of this machine, with the documented configuration. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findFreePorts } from '../find-free-ports.ts';
import { ServiceProcess } from './service-process.ts';

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'sluice-proxy-'));
const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
const running: ChildProcess[] = [];
let service: ServiceProcess;

beforeAll(async () => {
  service = await ServiceProcess.startDemo(join(folder, 'data'));
});

afterAll(async () => {
  for (const child of running) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    if (child.exitCode === null) await exited;
  }
  await service?.end('SIGTERM');
  rmSync(folder, { recursive: true });
});

function makeCertificate(): void {
  const subject = ['-subj', '/CN=ledger.example', '-days', '2'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, ...files], {
    stdio: 'ignore',
  });
}

/** Returns the documented configuration that follows a line of the page. */
function exampleAfter(line: string): string {
  return page.split(`\n${line}\n`)[1]?.split('```')[1]?.replace(/^.*\n/, '') ?? '';
}

/** nginx before 1.25.1 needs the form that a comment of the example gives. */
function nginxConfiguration(port: number): string {
  const version = /nginx\/(\S+)/.exec(spawnSync('nginx', ['-v']).stderr.toString())?.[1] ?? '';
  const isOld = version.localeCompare('1.25.1', 'en', { numeric: true }) < 0;
  const example = exampleAfter('nginx:')
    .replace('127.0.0.1:8080', new URL(service.url).host)
    .replace(/\/etc\/ssl\/ledger\.example\.pem/, certificate)
    .replace(/\/etc\/ssl\/ledger\.example\.key/, key)
    .replace(/ {2}http2 on;.*\n/, (line) => (isOld ? '' : line))
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port} ssl${isOld ? ' http2' : ''};`);
  const temporaryPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n');
  return `daemon off; pid ${join(folder, 'nginx.pid')}; error_log stderr;
events { worker_connections 256; }
http { access_log off;\n${temporaryPaths}\n${example}\n}`;
}

function caddyConfiguration(port: number): string {
  const example = exampleAfter('Caddy:')
    .replace('127.0.0.1:8080', new URL(service.url).host)
    .replace('ledger.example {', `https://ledger.example:${port} {\n  tls ${certificate} ${key}`);
  return `{\n  admin off\n  auto_https disable_redirects\n}\n${example}`;
}

const proxies = {
  nginx: (port: number) => {
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, nginxConfiguration(port));
    return ['-c', file, '-p', folder, '-e', 'stderr'];
  },
  caddy: (port: number) => {
    const file = join(folder, 'Caddyfile');
    writeFileSync(file, caddyConfiguration(port));
    return ['run', '--config', file, '--adapter', 'caddyfile'];
  },
};

async function startProxy(name: keyof typeof proxies): Promise<number> {
  const [port = 0] = await findFreePorts(1);
  mkdirSync(join(folder, 'home'), { recursive: true });
  const child = spawn(name, proxies[name](port), {
    env: { ...process.env, HOME: join(folder, 'home') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.push(child);
  let errors = '';
  child.stderr.on('data', (bytes: Buffer) => {
    errors += bytes.toString();
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${errors}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return port;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const path = '/datasets/ledger-beta/stream';
const headers = { 'content-type': 'application/json', host: 'ledger.example' };

/** Follows the head and returns the slots of the first lines. The response is still open when they arrive. */
async function readSlots(body: Readable, count: number): Promise<number[]> {
  const slots: number[] = [];
  let rest = '';
  for await (const bytes of body) {
    const lines = (rest + String(bytes)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) slots.push(Number(/"number":(\d+)/.exec(line)?.[1]));
    if (slots.length >= count) break;
  }
  return slots;
}

async function followHttp1(port: number, query: string): Promise<number[]> {
  const sent = request({
    ...{ port, host: '127.0.0.1', servername: 'ledger.example', path, method: 'POST', headers },
    rejectUnauthorized: false,
  });
  sent.end(query);
  const [response] = await once(sent, 'response');
  expect(response.statusCode).toBe(200);
  const slots = await readSlots(response, 5);
  sent.destroy();
  return slots;
}

async function followHttp2(port: number, query: string): Promise<number[]> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    servername: 'ledger.example',
    rejectUnauthorized: false,
  });
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    ':authority': 'ledger.example',
    'content-type': 'application/json',
  });
  stream.end(query);
  const [response] = await once(stream, 'response');
  expect(response[':status']).toBe(200);
  expect(session.alpnProtocol).toBe('h2');
  const slots = await readSlots(stream, 5);
  session.destroy();
  return slots;
}

const isAbsent = (name: string) => spawnSync(name, ['-h']).error !== undefined;

for (const name of ['nginx', 'caddy'] as const) {
  const missing = [name, 'openssl'].filter(isAbsent);
  const skipped = missing.length > 0 ? ` (skipped: ${missing.join(', ')} is not installed)` : '';
  test.skipIf(missing.length > 0)(
    `behavior: S-06 a stream follows the head through ${name} over HTTP/1.1 and HTTP/2, line by line${skipped}`,
    async () => {
      makeCertificate();
      const port = await startProxy(name);
      const { number } = await service.getJson<{ number: number }>('/datasets/ledger-beta/head');
      const fields = { block: { number: true } };
      const query = JSON.stringify({ fromBlock: number, includeAllBlocks: true, fields });
      for (const follow of [followHttp1, followHttp2]) {
        const slots = await follow(port, query);
        expect(slots[0]).toBe(number);
        expect(slots).toEqual(slots.toSorted((a, b) => a - b));
        expect(slots.length).toBeGreaterThanOrEqual(5);
      }
    },
  );
}
