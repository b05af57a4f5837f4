import { randomBytes } from 'node:crypto';
import type { Config } from '../../app/config/config-schema.ts';
import type { FeedConfig, StoreConfig } from '../../app/config/remote-schema.ts';
import { systemClock } from '../../base/clock.ts';
import { isCodedError } from '../../base/errors.ts';
import type { Finding } from './check.ts';
import { messageOf } from './check-data.ts';

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
  const place = `bucket ${config.bucket}${config.prefix === '' ? '' : `/${config.prefix}`}`;
  try {
    const modules = { clock: systemClock, environment: process.env, random: () => 1 };
    const store = openStore(config, modules);
    try {
      await probeStore(store, randomBytes(8).toString('hex'));
    } finally {
      await store.close();
    }
    const text = `${place} can be written, read and listed, and refuses to overwrite`;
    return { area, state: 'ok', text };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const remedy =
      'correct store in the configuration, or the rights of its key; see docs/scale.md';
    return { area, state: 'wrong', text: `${place}: ${messageOf(error)}`, remedy };
  }
}

/** Reads the stream of a dataset; one that does not exist yet is made, as a service would. */
async function checkFeed(dataset: string, config: FeedConfig): Promise<Finding[]> {
  const area = 'feed';
  const { JetStreamFeed } = await import('../../cluster/jetstream-feed.ts');
  try {
    const feed = await JetStreamFeed.open({ ...config, dataset }, { clock: systemClock });
    try {
      const { config: made, state, cluster } = await feed.readInfo();
      const replicas = made.num_replicas;
      const gone = (cluster?.replicas ?? []).filter(({ current }) => !current).length;
      const text = `stream of ${dataset}: ${state.messages} messages, ${replicas} replicas, messages up to ${feed.messageBytesMax} bytes`;
      if (replicas < 3 || gone > 0) {
        const remedy =
          replicas < 3 ? 'three replicas survive a server' : `${gone} replicas lag or are gone`;
        return [{ area, state: 'warning', text, remedy }];
      }
      if (feed.isNearlyFull) {
        const remedy = 'raise feed.bytesMax and the limit of the stream';
        return [{ area, state: 'wrong', text: `${text}, nearly full`, remedy }];
      }
      return [{ area, state: 'ok', text }];
    } finally {
      await feed.close();
    }
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const remedy = 'check feed.servers, and that JetStream is enabled on a majority of them';
    return [{ area, state: 'wrong', text: `stream of ${dataset}: ${messageOf(error)}`, remedy }];
  }
}
