/** A Ceph cluster of one monitor and one object store in memory, with its S3 gateway. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Child, findFreePorts, startChild, waitUntil } from './child.ts';

export interface StartedS3 {
  readonly name: string;
  readonly port: number;
  signal(signal: NodeJS.Signals): void;
  restart(): void;
  stop(): Promise<void>;
}

const run = promisify(execFile);

export async function startCeph(
  folder: string,
  key: { readonly accessKeyId: string; readonly secretAccessKey: string },
): Promise<StartedS3> {
  const [port = 0, first = 0, second = 0] = await findFreePorts(3);
  for (const name of ['mon', 'osd', 'rgw', 'run', 'log']) mkdirSync(join(folder, name));
  const addresses = `[v2:127.0.0.1:${first},v1:127.0.0.1:${second}]`;
  const [fsid, osd, config] = [randomUUID(), randomUUID(), join(folder, 'ceph.conf')];
  writeFileSync(config, describeCluster(folder, { fsid, addresses, port }));
  const monmap = join(folder, 'monmap');
  await run('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', addresses, monmap]);
  await run('ceph-mon', ['-i', 'a', '--mkfs', '--monmap', monmap, '-c', config]);
  const children: Child[] = [startChild('ceph-mon', ['-i', 'a', '-c', config, '-f'])];
  await run('ceph', ['-c', config, 'osd', 'new', osd], { timeout: 60_000 });
  await run('ceph-osd', ['-i', '0', '--mkfs', '--osd-uuid', osd, '-c', config]);
  children.push(startChild('ceph-osd', ['-i', '0', '-c', config, '-f']));
  const user = ['user', 'create', '--uid=test', '--display-name=Test'];
  const keys = [`--access-key=${key.accessKeyId}`, `--secret-key=${key.secretAccessKey}`];
  await run('radosgw-admin', ['-c', config, ...user, ...keys], { timeout: 120_000 });
  const args = ['-n', 'client.rgw', '-c', config, '-f', '--ms_mon_client_mode=crc'];
  const startGateway = () => startChild('radosgw', args);
  let gateway = startGateway();
  await waitUntil(
    'the gateway of Ceph starts',
    async () => (await fetch(`http://127.0.0.1:${port}`).catch(() => undefined)) !== undefined,
    120_000,
  );
  const stop = async () => {
    await Promise.all([gateway, ...children].map((child) => child.stop('SIGKILL')));
  };
  return {
    name: 'Ceph RGW',
    port,
    signal: (signal) => gateway.process.kill(signal),
    restart: () => {
      gateway = startGateway();
    },
    stop,
  };
}

function describeCluster(
  folder: string,
  { fsid, addresses, port }: { fsid: string; addresses: string; port: number },
): string {
  return `[global]
fsid = ${fsid}
mon host = ${addresses}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
osd pool default pg num = 4
osd pool default pgp num = 4
mon allow pool size one = true
mon data avail crit = 1
mon max pg per osd = 1000
run dir = ${folder}/run
admin socket = ${folder}/run/$name.asok
log file = ${folder}/log/$name.log
pid file = ${folder}/run/$name.pid
osd objectstore = memstore
memstore device bytes = 4294967296
[mon.a]
mon data = ${folder}/mon
[osd.0]
osd data = ${folder}/osd
[client.rgw]
rgw data = ${folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:${port}
`;
}
