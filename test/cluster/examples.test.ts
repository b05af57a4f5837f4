/** Checks the examples in ops. Containers cannot be started here, so the files are checked and run as processes. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { findFreePorts } from '../find-free-ports.ts';
import { ServiceProcess } from '../service/service-process.ts';
import { type Child, findProgram, startChild, waitUntil } from './services/child.ts';
import { untilHealthy } from './services/start-nats.ts';
import { type S3Server, useS3 } from './services/start-s3.ts';

interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly entrypoint?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly readinessProbe?: Probe;
  readonly livenessProbe: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: number };
}

interface Resource {
  readonly kind: string;
  readonly spec: {
    readonly selector: Readonly<Record<string, unknown>>;
    readonly ports?: readonly { readonly port: number }[];
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

const ops = fileURLToPath(new URL('../../ops/cluster', import.meta.url));
const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
const command = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));
const read = (name: string) => readFileSync(join(ops, name), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'sluice-examples-'));
const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

const compose = parse(read('compose.yaml'), { merge: true }) as {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
};
const sluices = Object.entries(compose.services).filter(([, { image }]) => image === 'sluice');
const resources = parseAllDocuments(read('kubernetes.yaml')).map(
  (document) => document.toJS() as Resource,
);
const deployments = resources.filter(({ kind }) => kind === 'Deployment');
/** The variables that the configuration refers to. */
const variables = [...read('sluice.yaml').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => String(name));
/** The content of the secret that the Kubernetes example expects. */
const secrets = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];

function checkConfig(environment: Readonly<Record<string, string>>): string {
  const args = [command, 'config', 'check', '--offline', join(ops, 'sluice.yaml')];
  const env = { PATH: process.env['PATH'], RPC: 'http://my-node:8899', ...environment };
  const { stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  return `${stdout}${stderr}`;
}

test('default: the compose file gives every process the variables and files that its configuration needs', () => {
  expect(sluices.map(([name]) => name)).toEqual(
    expect.arrayContaining(['writer-1', 'writer-2', 'reader-1', 'reader-2', 'reader-3']),
  );
  for (const [, { environment = {}, command: args = [], volumes = [] }] of sluices) {
    // Each variable of the configuration is set, and no other, which nothing would read.
    expect(Object.keys(environment).sort()).toEqual([...variables, ...secrets].sort());
    expect(args).toEqual(['serve', '--config', '/etc/sluice.yaml']);
    expect(volumes).toContain('./sluice.yaml:/etc/sluice.yaml:ro');
  }
  const [, writer] = sluices.find(([name]) => name === 'writer-1') ?? [];
  const { RPC: _, ...environment } = writer?.environment ?? {};
  expect(checkConfig(environment)).toContain('is valid: 1 dataset listed');
  for (const { depends_on: names = [], volumes = [] } of Object.values(compose.services)) {
    for (const name of Array.isArray(names) ? names : Object.keys(names))
      expect(compose.services).toHaveProperty(String(name));
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      if (!source.startsWith('.')) expect(compose.volumes).toHaveProperty(source);
    }
  }
});

test('default: the addresses, names and keys of the compose file fit together', () => {
  const { services } = compose;
  const { listen, store, feed } = parse(read('sluice.yaml')) as {
    listen: { port: number };
    store: { bucket: string };
    feed: { servers: string[] };
  };
  const roles = sluices.map(([, { environment }]) => environment?.['SLUICE_ROLE']);
  expect(roles).toEqual(['write', 'write', 'read', 'read', 'read']);
  const nats = Object.entries(services).filter(([, { image }]) => image.startsWith('nats:'));
  expect(feed.servers).toEqual(nats.map(([name]) => `nats://${name}:4222`));
  for (const name of nats.map(([name]) => name)) {
    expect(read('nats.conf')).toContain(`nats://${name}:6222`);
    expect(services[name]?.environment).toEqual({ NATS_NAME: name });
  }
  for (const [, { environment = {} }] of sluices) {
    const endpoint = new URL(environment['S3_ENDPOINT'] ?? '');
    expect(endpoint.host).toBe('minio:9000');
    const { MINIO_ROOT_USER, MINIO_ROOT_PASSWORD } = services['minio']?.environment ?? {};
    expect(secrets.map((name) => environment[name])).toEqual([
      MINIO_ROOT_USER,
      MINIO_ROOT_PASSWORD,
    ]);
  }
  expect(services['bucket']?.entrypoint?.at(-1)).toContain(`mc mb -p m/${store.bucket}`);
  const targets = services['balancer']?.command?.filter((arg) => arg.startsWith('reader-'));
  expect(targets).toEqual(
    ['reader-1', 'reader-2', 'reader-3'].map((one) => `${one}:${listen.port}`),
  );
});

test('default: the options and variables of the compose file for one machine start a service', async () => {
  const file = fileURLToPath(new URL('../../ops/compose.yaml', import.meta.url));
  const { services } = parse(readFileSync(file, 'utf8')) as typeof compose;
  const { command: args = [], environment = {}, ports } = services['sluice'] as ComposeService;
  const given = args.map((arg) =>
    arg.replace(/\$\{RPC:\?.*\}/, 'http://127.0.0.1:1').replace(/\$\{KEEP:-(.*)\}/, '$1'),
  );
  expect(given.join(' ')).not.toContain('$');
  const [name, ...options] = given;
  expect(name).toBe('serve');
  const service = await ServiceProcess.startServe(
    [...options, '--data', join(folder, 'one')],
    environment,
  );
  closers.push(() => service.end('SIGKILL'));
  const statuses = await (await fetch(`${service.url}/datasets/mainnet/status`)).json();
  expect(statuses).toMatchObject({ dataset: 'mainnet' });
  const port = /^ENV .*\bPORT=(\d+)/m.exec(dockerfile)?.[1];
  expect(ports).toEqual([`127.0.0.1:${port}:${port}`]);
  // The operator's listener has the next port by default. Prometheus and the health check of the image use it.
  const prometheus = readFileSync(join(ops, '../prometheus/prometheus.yml'), 'utf8');
  expect(prometheus).toContain(`127.0.0.1:${Number(port) + 1}`);
  const { listen, admin } = parse(read('sluice.yaml')) as {
    listen: { port: number };
    admin: { port: number };
  };
  expect([listen.port, admin.port]).toEqual([Number(port), Number(port) + 1]);
});

test('default: the Kubernetes example gives every process the variables and files that its configuration needs', () => {
  const { listen, admin, data } = parse(read('sluice.yaml')) as {
    listen: { port: number };
    admin: { port: number };
    data: string;
  };
  const roles = deployments.map(({ spec }) =>
    spec.template?.spec.containers[0].env.find(({ name }) => name === 'SLUICE_ROLE'),
  );
  expect(roles.map((role) => role?.value)).toEqual(['write', 'read']);
  for (const { spec } of deployments) {
    const { metadata, spec: pod } = spec.template as NonNullable<typeof spec.template>;
    const [container] = pod.containers;
    const { env, envFrom, args, volumeMounts } = container;
    const given = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    expect(Object.keys(given).sort()).toEqual([...variables].sort());
    expect(envFrom).toEqual([{ secretRef: { name: 'sluice-store' } }]);
    expect(checkConfig(given)).toContain('is valid: 1 dataset listed');
    expect(spec.selector).toEqual({ matchLabels: metadata.labels });
    const mounted = volumeMounts.map(({ mountPath }) => mountPath);
    expect(mounted).toContain(data);
    expect(mounted.some((path) => args[2]?.startsWith(`${path}/`))).toBe(true);
    const volumes = pod.volumes.map(({ name }) => name);
    for (const { name } of volumeMounts) expect(volumes).toContain(name);
    for (const probe of [container.livenessProbe, container.readinessProbe])
      if (probe !== undefined) expect(probe.httpGet.port).toBe(admin.port);
    expect(['/health', '/ready']).toContain(container.livenessProbe.httpGet.path);
    for (const { containerPort } of container.ports ?? []) expect(containerPort).toBe(listen.port);
  }
  const service = resources.find(({ kind }) => kind === 'Service');
  expect(service?.spec.ports).toEqual([{ port: listen.port }]);
  expect(deployments.map(({ spec }) => spec.template?.metadata.labels)).toContainEqual(
    service?.spec.selector,
  );
});

test('behavior: the files of the example run as processes: a reader serves what a writer stores', async () => {
  const s3 = await useS3();
  const program = findProgram('nats-server', 'NATS_SERVER') ?? 'nats-server';
  const node = await startSimulatedNode(
    { chain: { seed: 3, startSlot: 60, slotMs: 400 }, content: { transactionsPerBlock: 2 } },
    { clock: systemClock },
  );
  closers.push(() => node.close());
  const ports = await findFreePorts(9 + 4);
  const natsPorts = ports.slice(0, 3);
  for (const i of [0, 1, 2]) startServer(program, ports, i);
  await untilHealthy(ports.slice(6, 9));
  const servers = natsPorts.map((port) => `nats://127.0.0.1:${port}`);
  const endpoint = `http://127.0.0.1:${s3.port}`;
  const readers = ports.slice(11);
  startSluice('writer-1', { ports: ports.slice(9, 11), servers, endpoint, rpc: node.rpcUrl, s3 });
  startSluice('reader-1', { ports: readers, servers, endpoint, rpc: node.rpcUrl, s3 });
  const [port, adminPort] = readers;
  await waitUntil('the reader serves a head', async () => {
    const url = `http://127.0.0.1:${port}/datasets/mainnet/head`;
    const response = await fetch(url).catch(() => undefined);
    const head = response?.ok === true ? ((await response.json()) as { number: number }) : null;
    return (head?.number ?? 0) > 30;
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${children.map((child) => child.output()).join('\n---\n')}`);
  });
  for (const path of ['ready', 'health'])
    expect((await fetch(`http://127.0.0.1:${adminPort}/${path}`)).status).toBe(200);
});

const children: Child[] = [];

function start(...args: Parameters<typeof startChild>): void {
  const child = startChild(...args);
  children.push(child);
  closers.push(() => child.stop('SIGKILL'));
}

/** Starts a NATS server with the configuration of the example, at other addresses. */
function startServer(program: string, ports: readonly number[], i: number): void {
  const serverFolder = join(folder, `nats-${i}`);
  mkdirSync(serverFolder);
  const routes = [0, 1, 2].map((j) => `nats://127.0.0.1:${ports[3 + j]}`).join(', ');
  const text = read('nats.conf')
    .replace('0.0.0.0:4222', `127.0.0.1:${ports[i]}`)
    .replace('0.0.0.0:6222', `127.0.0.1:${ports[3 + i]}`)
    .replace('0.0.0.0:8222', `127.0.0.1:${ports[6 + i]}`)
    .replace(/routes: \[.*\]/, `routes: [${routes}]`)
    .replace('store_dir: /data', `store_dir: "${serverFolder}/js"`)
    // Version 2.9, which Debian has, does not support this yet.
    .replace(/.*sync_interval.*\n/, '');
  writeFileSync(join(serverFolder, 'nats.conf'), text);
  start(program, ['-c', join(serverFolder, 'nats.conf')], { env: { NATS_NAME: `nats-${i + 1}` } });
}

/** Starts a process of the compose file with its variables and configuration, at other addresses. */
function startSluice(
  name: string,
  world: {
    readonly ports: readonly number[];
    readonly servers: readonly string[];
    readonly endpoint: string;
    readonly rpc: string;
    readonly s3: S3Server;
  },
): void {
  const { command: args = [], environment } = compose.services[name] as ComposeService;
  const processFolder = join(folder, name);
  mkdirSync(processFolder);
  const text = read('sluice.yaml')
    .replace('/srv/data', join(processFolder, 'data'))
    .replace('bucket: ledger', `bucket: ${world.s3.bucket}`)
    .replaceAll('0.0.0.0', '127.0.0.1')
    .replace('port: 8080', `port: ${world.ports[0]}`)
    .replace('port: 8081', `port: ${world.ports[1]}`)
    .replace(/servers: \[.*\]/, `servers: ${JSON.stringify(world.servers)}`);
  const file = join(processFolder, 'sluice.yaml');
  writeFileSync(file, text);
  const { accessKeyId, secretAccessKey } = world.s3;
  const env = {
    ...environment,
    RPC: world.rpc,
    S3_ENDPOINT: world.endpoint,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
  const given = args.map((arg) => (arg === '/etc/sluice.yaml' ? file : arg));
  start(process.execPath, [command, ...given], { env });
}
