import type { OnEvent } from './client-events.ts';
import type { RetryOptions } from './endpoints.ts';
import type { HttpOptions } from './http-client.ts';
import type { LineLimits } from './line-groups.ts';
import { SluiceError } from './sluice-error.ts';

export interface ClientOptions {
  /**
   * The address of a dataset, as `http://127.0.0.1:8080/datasets/ledger-beta`; several if replicas hold the same dataset.
   * The first one is used until it fails.
   */
  readonly url: string | readonly string[];
  /** Sent as `Authorization: Bearer`. */
  readonly key?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called with every request, response, retry, failover, batch and rollback, for logs and metrics. */
  readonly onEvent?: OnEvent;
  /** How long to wait for the start of a response, 30 s unless given; the service itself holds a request up to 5 s. */
  readonly timeoutMs?: number;
  /** Silence after which an open response is given up, 45 s unless given; a service at the head is silent up to 30 s. */
  readonly stallMs?: number;
  readonly retry?: Partial<RetryOptions>;
  /** Bytes of lines after which a batch is handed on, 1 MiB unless given. A batch has at least one line. */
  readonly batchBytesMax?: number;
  /** The longest line that is accepted, 128 MiB unless given. */
  readonly lineBytesMax?: number;
  /** The most blocks that are remembered for a rollback, 1,000 unless given. A finalized one is always among them. */
  readonly backlogCountMax?: number;
  /** Replaces the `fetch` of the platform. */
  readonly fetch?: typeof fetch;
}

export interface ParsedOptions {
  readonly urls: readonly string[];
  readonly http: HttpOptions;
  readonly lines: LineLimits;
  readonly retry: RetryOptions;
  readonly backlogCountMax: number;
}

const mebibyte = 1024 * 1024;
const urlCountMax = 100;

export function parseOptions(options: ClientOptions): ParsedOptions {
  const { retry = {} } = options;
  return {
    urls: parseUrls(options.url),
    http: {
      key: options.key,
      headers: options.headers ?? {},
      timeoutMs: positive('timeoutMs', options.timeoutMs, 30_000),
    },
    lines: {
      stallMs: positive('stallMs', options.stallMs, 45_000),
      batchBytesMax: positive('batchBytesMax', options.batchBytesMax, mebibyte),
      lineBytesMax: positive('lineBytesMax', options.lineBytesMax, 128 * mebibyte),
    },
    retry: {
      firstMs: positive('retry.firstMs', retry.firstMs, 250),
      maxMs: positive('retry.maxMs', retry.maxMs, 30_000),
      attemptsMax: positive('retry.attemptsMax', retry.attemptsMax, Infinity),
    },
    backlogCountMax: positive('backlogCountMax', options.backlogCountMax, 1_000),
  };
}

function positive(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && value > 0) return value;
  throw new SluiceError('option-invalid', { detail: `${name} is ${String(value)}, not above 0` });
}

/** The message names the place in the list and not the address, which may hold a secret. */
function parseUrls(url: string | readonly string[]): readonly string[] {
  const list = typeof url === 'string' ? [url] : [...url];
  if (list.length === 0 || list.length > urlCountMax) {
    throw new SluiceError('option-invalid', { detail: `url has ${list.length} addresses` });
  }
  const urls = list.map((text, index) => {
    const parsed = URL.canParse(text) ? new URL(text) : undefined;
    const isPlain = parsed?.search === '' && parsed.hash === '' && parsed.username === '';
    if (!isPlain || !/^https?:$/.test(parsed.protocol)) {
      const detail = `url ${index + 1} is not an http address of the form http://HOST/datasets/NAME`;
      throw new SluiceError('option-invalid', { detail });
    }
    return parsed.href.replace(/\/+$/, '');
  });
  return [...new Set(urls)];
}
