import { randomBytes } from 'node:crypto';
import type { StreamInfo } from '@nats-io/jetstream';
import { systemClock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { Config } from '../../app/config/config-schema.ts';
import type { FeedConfig, StoreConfig } from '../../app/config/remote-schema.ts';
import type { Finding } from './check.ts';
import { describeError } from './check-data.ts';

/** Tries the object store and the feed of a configuration, if it has them. Their code is loaded only then. */
export async function checkRemote({ store, feed, datasets }: Config): Promise<Finding[]> {
  const findings = store === undefined ? [] : [await checkStore(store)];
  if (feed === undefined) return findings;
  const feeds = await Promise.all(datasets.map(({ name }) => checkFeed(name, feed)));
  return [...findings, ...feeds.flat()];
}

async function checkStore(config: StoreConfig): Promise<Finding> {
  const area = 'store';
  const { openStore } = await import('../../app/remote/open-store.ts');
  const { probeStore } = await import('../../object-store/probe-store.ts');
  const bucket = `bucket ${config.bucket}${config.prefix === '' ? '' : `/${config.prefix}`}`;
  try {
    const dependencies = { clock: systemClock, environment: process.env, random: () => 1 };
    const store = openStore(config, dependencies);
    try {
      await probeStore(store, randomBytes(8).toString('hex'));
    } finally {
      await store.close();
    }
    const text = `${bucket} can be written, read and listed, and refuses to overwrite`;
    return { area, state: 'ok', text };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const remedy =
      'correct store in the configuration, or the permissions of its key; see docs/scale.md';
    return { area, state: 'wrong', text: `${bucket}: ${describeError(error)}`, remedy };
  }
}

/** Reads the stream of a dataset. A stream that does not exist yet is created, as a service would. */
async function checkFeed(dataset: string, config: FeedConfig): Promise<Finding[]> {
  const area = 'feed';
  const { JetStreamFeed } = await import('../../cluster/jetstream-feed.ts');
  try {
    const feed = await JetStreamFeed.open({ ...config, dataset }, { clock: systemClock });
    try {
      const info = await feed.readInfo();
      const { config: made, state } = info;
      const text = `stream of ${dataset}: ${state.messages} messages with ${state.bytes} of ${made.max_bytes} bytes, ${made.num_replicas} replicas, messages up to ${feed.messageBytesMax} bytes`;
      // Throws if the servers have no majority.
      await feed.readLastSequence();
      if (feed.isNearlyFull) {
        const remedy = 'raise feed.bytesMax; blocks are not stored until some are sealed';
        return [{ area, state: 'wrong', text: `${text}, nearly full`, remedy }];
      }
      const remedies = listDoubts(info, config);
      if (remedies.length === 0) return [{ area, state: 'ok', text }];
      return [{ area, state: 'warning', text, remedy: remedies.join('; ') }];
    } finally {
      await feed.close();
    }
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const remedy = 'check feed.servers, and that JetStream is enabled on a majority of them';
    return [
      { area, state: 'wrong', text: `stream of ${dataset}: ${describeError(error)}`, remedy },
    ];
  }
}

/** Returns warnings about a stream that works. */
function listDoubts({ config: made, cluster }: StreamInfo, config: FeedConfig): string[] {
  const replicas = cluster?.replicas ?? [];
  const goneCount = replicas.filter(({ current, offline }) => !current || offline === true).length;
  const isSame = made.num_replicas === config.replicas && made.max_bytes === config.bytesMax;
  return [
    ...(made.num_replicas < 3 ? ['use three replicas, to survive the loss of a server'] : []),
    ...(goneCount > 0 ? [`${goneCount} replicas lag or are offline; check their servers`] : []),
    ...(made.storage === 'file'
      ? []
      : ['the stream is stored in memory; delete it and create it with file storage']),
    ...(isSame
      ? []
      : ['the limits of the stream differ from the configuration; the next writer updates them']),
  ];
}
