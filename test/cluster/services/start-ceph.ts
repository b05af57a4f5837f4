/** A Ceph cluster of one monitor and one object store in memory, and S3 gateways of it. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePorts } from '../../find-free-ports.ts';
import { type Child, startChild } from './child.ts';
import { type S3Process, startS3Process } from './s3-process.ts';

export interface CephCluster {
  /** The path of its configuration, with which gateways are started. */
  readonly config: string;
  stop(): Promise<void>;
}

const run = promisify(execFile);

export async function startCeph(
  folder: string,
  key: { readonly accessKeyId: string; readonly secretAccessKey: string },
): Promise<CephCluster> {
  const [first = 0, second = 0] = await findFreePorts(2);
  for (const name of ['mon', 'osd', 'run', 'log']) mkdirSync(join(folder, name));
  const addresses = `[v2:127.0.0.1:${first},v1:127.0.0.1:${second}]`;
  const [fsid, osd, config] = [randomUUID(), randomUUID(), join(folder, 'ceph.conf')];
  writeFileSync(config, describeCluster(folder, { fsid, addresses }));
  const monmap = join(folder, 'monmap');
  await run('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', addresses, monmap]);
  await run('ceph-mon', ['-i', 'a', '--mkfs', '--monmap', monmap, '-c', config]);
  const children: Child[] = [startChild('ceph-mon', ['-i', 'a', '-c', config, '-f'])];
  await run('ceph', ['-c', config, 'osd', 'new', osd], { timeout: 120_000 });
  await run('ceph-osd', ['-i', '0', '--mkfs', '--osd-uuid', osd, '-c', config]);
  children.push(startChild('ceph-osd', ['-i', '0', '-c', config, '-f']));
  const user = ['user', 'create', '--uid=test', '--display-name=Test'];
  const keys = [`--access-key=${key.accessKeyId}`, `--secret-key=${key.secretAccessKey}`];
  await run('radosgw-admin', ['-c', config, ...user, ...keys], { timeout: 240_000 });
  const stop = async () => {
    await Promise.all(children.map((child) => child.stop('SIGKILL')));
  };
  return { config, stop };
}

/** Starts a gateway of a cluster. Gateways share the buckets of the cluster. */
export async function startGateway(config: string): Promise<S3Process> {
  const [port = 0] = await findFreePorts(1);
  const name = `gateway-${port}`;
  const frontend = `beast endpoint=127.0.0.1:${port}`;
  const args = ['-n', `client.${name}`, '-c', config, '-f', '--ms_mon_client_mode=crc'];
  args.push('--rgw_frontends', frontend, '--rgw_data', join(dirname(config), name));
  mkdirSync(join(dirname(config), name));
  return startS3Process('the gateway of Ceph', port, () => startChild('radosgw', args));
}

function describeCluster(
  folder: string,
  { fsid, addresses }: { fsid: string; addresses: string },
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
`;
}
