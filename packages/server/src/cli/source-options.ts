import { env } from 'node:process';
import { type Command, Option } from 'commander';
import type { FollowedSourceOptions } from '../ingest/followed-source.ts';
import {
  ADDRESSES_EXPECTED,
  isPortalUrl,
  isSocketUrl,
  isSourceUrl,
} from '../source/source-addresses.ts';

export interface SourceChoice {
  readonly rpc?: readonly string[];
  readonly portal?: readonly string[];
  readonly ws?: string;
}

export function portalOption(what: string): Option {
  return new Option(
    '--portal <url...>',
    `${what}: http://HOST/datasets/NAME; a key they ask for comes from SLUICE_PORTAL_KEY`,
  );
}

/** Not an option: everyone on the machine can read a command line. An empty variable is as good as none. */
export function portalKey(): string | undefined {
  return env['SLUICE_PORTAL_KEY'] || undefined;
}

/** By the option's name, not the key's that a file would have; not repeated, since an address may hold a key. */
export function checkAddresses(
  command: Command,
  { rpc = [], portal = [], ws }: SourceChoice,
): void {
  const refuse = (option: keyof typeof ADDRESSES_EXPECTED) =>
    command.error(`error: --${option} needs ${ADDRESSES_EXPECTED[option]}`);
  if (!rpc.every(isSourceUrl)) refuse('rpc');
  if (!portal.every(isPortalUrl)) refuse('portal');
  if (ws !== undefined && !isSocketUrl(ws)) refuse('ws');
}

/** Sources that are asked, not followed: nodes first, without notifications. */
export function askedSources({ rpc = [], portal = [] }: SourceChoice): FollowedSourceOptions[] {
  const nodes = rpc.map((url, i) => ({ name: `rpc-${i + 1}`, url, wsUrls: [] }));
  const portals = portal.map((url, i) => {
    return { kind: 'portal' as const, name: `portal-${i + 1}`, url, key: portalKey() };
  });
  return [...nodes, ...portals];
}
