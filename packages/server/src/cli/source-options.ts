import { env } from 'node:process';
import type { SourceOptions } from '@sluice/source/open-source';
import { ADDRESSES } from '@sluice/source/source-addresses';
import { type Command, Option } from 'commander';

export interface SourceChoice {
  readonly rpc?: readonly string[];
  readonly grpc?: readonly string[];
  readonly portal?: readonly string[];
  readonly archive?: readonly string[];
  readonly ws?: string;
}

export function portalOption(what: string): Option {
  return new Option(
    '--portal <url...>',
    `${what}: http://HOST/datasets/NAME; set SLUICE_PORTAL_KEY if they require a key`,
  );
}

export function grpcOption(what: string): Option {
  return new Option(
    '--grpc <url...>',
    `${what}: https://HOST:PORT; set SLUICE_GRPC_TOKEN if they require an x-token`,
  );
}

export function grpcToken(): string | undefined {
  return env['SLUICE_GRPC_TOKEN'] || undefined;
}

/** The key is not an option, because every user of the machine can read a command line. An empty variable counts as unset. */
export function portalKey(): string | undefined {
  return env['SLUICE_PORTAL_KEY'] || undefined;
}

/** Reports an invalid address by its option. The address is not repeated, because it may contain a key. */
export function checkAddresses(
  command: Command,
  { rpc = [], grpc = [], portal = [], archive = [], ws }: SourceChoice,
): void {
  const given = { rpc, grpc, portal, archive, ws: ws === undefined ? [] : [ws] };
  for (const option of ['rpc', 'grpc', 'portal', 'archive', 'ws'] as const) {
    const { expected, isValid } = ADDRESSES[option];
    if (!given[option].every(isValid)) command.error(`error: --${option} needs ${expected}`);
  }
}

/** Returns the sources of a backfill: archives first, then nodes, without notifications. */
export function chosenSources({
  rpc = [],
  portal = [],
  archive = [],
}: SourceChoice): SourceOptions[] {
  const archives = archive.map((location, i) => {
    return { kind: 'archive' as const, name: `archive-${i + 1}`, location };
  });
  const nodes = rpc.map((url, i) => {
    return { kind: 'rpc' as const, name: `rpc-${i + 1}`, url, wsUrls: [] };
  });
  const portals = portal.map((url, i) => {
    return { kind: 'portal' as const, name: `portal-${i + 1}`, url, key: portalKey() };
  });
  return [...archives, ...nodes, ...portals];
}
