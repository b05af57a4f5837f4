import type { OnEvent } from './base/client-events.ts';
import { SluiceError } from './base/sluice-error.ts';
import type { RetryOptions } from './http/endpoints.ts';
import type { HttpOptions } from './http/http-client.ts';
import type { LineLimits } from './http/line-groups.ts';

export interface ClientOptions {
  /**
   * The address of a dataset, such as `http://127.0.0.1:8080/datasets/ledger-beta`. Several addresses are replicas of the same dataset.
   * The first one is used until it fails.
   */
  readonly url: string | readonly string[];
  /** Sent as `Authorization: Bearer`. */
  readonly key?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called with every request, response, retry, failover, batch and rollback, for logs and metrics. */
  readonly onEvent?: OnEvent;
  /** How long to wait for the start of a response; 30 s by default. The service itself holds a request for up to 5 s. */
  readonly timeoutMs?: number;
  /** How long an open response may send nothing before it is closed; 45 s by default. A service at the head may send nothing for 30 s. */
  readonly stallMs?: number;
  readonly retry?: Partial<RetryOptions>;
  /** The size of the lines after which a batch is delivered; 1 MiB by default. A batch has at least one line. */
  readonly batchBytesMax?: number;
  /** The maximum size of a line; 128 MiB by default. */
  readonly lineBytesMax?: number;
  /** The maximum number of blocks that are kept for a rollback; 1,000 by default. One of them is always finalized. */
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

/** The message contains the position in the list and not the address, which may contain a secret. */
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
