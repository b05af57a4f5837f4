/** The clients of the datasets. All data of the application comes through them. */
import { type Client, type ClientEvent, createClient } from '@sluice/client';
import { apiKey, watchedFetch } from './connection.ts';

interface CachedClient {
  readonly key: string | null;
  readonly client: Client;
}

const clients = new Map<string, CachedClient>();
/** More datasets than a service has; a client costs little. */
const clientCountMax = 1_000;

/** A person waits for these answers, so the waits between attempts stay short. */
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

/** Returns a client of its own, whose events are reported: for one run of a query. */
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
