/** The clients of the datasets. All data of the application comes through them. */
import { type Client, type ClientEvent, createClient } from '@sluice/client';
import { apiKey, watchedFetch } from './connection.ts';

interface CachedClient {
  readonly key: string | null;
  readonly client: Client;
}

const clients = new Map<string, CachedClient>();
/** More than the number of datasets of a service. A client needs little memory. */
const clientCountMax = 1_000;

/** A user waits for these responses, so the delays between retries are short. */
const retry = { firstMs: 250, maxMs: 2_000 };

export function clientOf(dataset: string): Client {
  const key = apiKey.value;
  const cached = clients.get(dataset);
  if (cached !== undefined && cached.key === key) return cached.client;
  const client = buildClient(dataset);
  if (clients.size >= clientCountMax) clients.clear();
  clients.set(dataset, { key, client });
  return client;
}

/** Returns a new client whose events are reported, for one run of a query. */
export function buildClient(dataset: string, onEvent?: (event: ClientEvent) => void): Client {
  const key = apiKey.value;
  return createClient({
    url: `${location.origin}/datasets/${encodeURIComponent(dataset)}`,
    fetch: watchedFetch,
    retry,
    ...(key === null ? {} : { key }),
    ...(onEvent === undefined ? {} : { onEvent }),
  });
}
