import { env } from 'node:process';
import { Option } from 'commander';
import type { FollowedSourceOptions } from '../ingest/followed-source.ts';

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

/** Sources that are asked, not followed: nodes first, without notifications. */
export function askedSources({
  rpc = [],
  portal = [],
}: {
  readonly rpc?: readonly string[];
  readonly portal?: readonly string[];
}): FollowedSourceOptions[] {
  const nodes = rpc.map((url, i) => ({ name: `rpc-${i + 1}`, url, wsUrls: [] }));
  const portals = portal.map((url, i) => {
    return { kind: 'portal' as const, name: `portal-${i + 1}`, url, key: portalKey() };
  });
  return [...nodes, ...portals];
}
