/** Checks rules between several keys of a configuration, which a schema cannot express. */

import { isIP } from 'node:net';
import { resolve, sep } from 'node:path';
import { CodedError } from '@sluice/base/errors';
import { keysOf } from '@sluice/protocol/typed-keys';
import { KEY_LIMITS } from '../../http/keys/key-budgets.ts';
import { adminPort, isSameListener } from './admin-port.ts';
import { type Config, type DatasetConfig, ORIGIN_EXPECTED } from './config-schema.ts';
import { type ConfigTree, pathBelow } from './config-tree.ts';
import { datasetFolder } from './dataset-folder.ts';
import { parseRetention } from './parse-retention.ts';
import { findSourceFaults, LOCAL_KINDS } from './source-schemas.ts';

export function checkConfig(config: Config, tree: ConfigTree): readonly CodedError[] {
  const checker = new ConfigChecker(config, tree);
  checker.checkPorts();
  checker.checkAccess();
  checker.checkOrigins();
  checker.checkNames();
  checker.checkFolders();
  checker.checkLimits();
  checker.checkRemote();
  checker.checkDialects(config.dialects, 'dialects');
  config.datasets.forEach((dataset, i) => {
    checker.checkDataset(dataset, pathBelow('datasets', i));
  });
  return checker.faults;
}

/** Returns whether the service listens beyond loopback without keys and without an explicit `auth`. */
export function isOpenUndecided({
  host,
  auth,
  keys,
}: Pick<Config['listen'], 'host' | 'auth' | 'keys'>): boolean {
  return keys === undefined && auth === undefined && !isLoopback(host);
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** Returns the origin of a web address. Rejects `*`, which the URL parser accepts in names and which would suggest a wildcard. */
function readOrigin(text: string): string | undefined {
  if (!URL.canParse(text) || text.includes('*')) return undefined;
  const { protocol, origin } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? origin : undefined;
}

const portMax = 65_535;
const KEY_LIMIT_NAMES = keysOf(KEY_LIMITS);
/** Keys that have an effect only with a source that is followed, and keys that have one only with a source of any kind. */
const uselessBesideFiles = ['from', 'backfillTo', 'agreement'];
const uselessAlone = [...uselessBesideFiles, 'keep', 'votes', 'allowMissing'];

class ConfigChecker {
  readonly faults: CodedError[] = [];
  readonly #config: Config;
  readonly #tree: ConfigTree;

  constructor(config: Config, tree: ConfigTree) {
    this.#config = config;
    this.#tree = tree;
  }

  checkPorts(): void {
    const { listen, admin } = this.#config;
    const port = adminPort(this.#config);
    if (port > portMax) {
      const expected = `less than ${portMax}, or an explicit admin.port, which is one higher by default`;
      this.#refuse('listen.port', expected);
    }
    if (isSameListener(listen, { host: admin.host, port })) {
      this.#refuse('admin.port', 'another port than listen.port, which is at the same address');
    }
  }

  checkAccess(): void {
    const { listen, limits } = this.#config;
    if (isOpenUndecided(listen)) {
      const key = 'listen.host';
      const origin = this.#tree.origins.get(key);
      const line = origin === undefined ? {} : { line: origin.line };
      this.faults.push(new CodedError('auth-undecided', { key, ...line, host: listen.host }));
    }
    if (listen.keys !== undefined) return;
    // Keys with their default value are accepted, because `sluice config print` prints them.
    const changed = KEY_LIMIT_NAMES.filter((name) => limits.key[name] !== KEY_LIMITS[name]);
    this.#refuseUseless('limits.key', changed, 'listen.keys');
  }

  /** Rejects origins that are not in the exact form that browsers send, because they would never match. */
  checkOrigins(): void {
    for (const [i, text] of this.#config.listen.corsOrigins.entries()) {
      const origin = readOrigin(text);
      if (origin === text) continue;
      const path = pathBelow('listen.corsOrigins', i);
      const isShown = this.#tree.origins.get(path)?.template === undefined;
      const form = origin !== undefined && isShown ? `, here ${origin}` : '';
      this.#refuse(path, `${ORIGIN_EXPECTED}, as browsers send it${form}`);
    }
  }

  checkNames(): void {
    const taken = new Set<string>();
    const take = (name: string, path: string) => {
      if (taken.has(name)) this.#refuse(path, 'a name that no other dataset has');
      taken.add(name);
    };
    this.#config.datasets.forEach(({ name, aliases = [] }, i) => {
      const path = pathBelow('datasets', i);
      take(name, `${path}.name`);
      for (const [j, alias] of aliases.entries()) take(alias, pathBelow(`${path}.aliases`, j));
    });
  }

  /** Rejects datasets with the same folder, or with a folder inside the folder of another dataset. */
  checkFolders(): void {
    const taken: string[] = [`${resolve(this.#config.data)}${sep}`];
    this.#config.datasets.forEach((dataset, i) => {
      const folder = `${resolve(datasetFolder(dataset, this.#config))}${sep}`;
      const isShared = taken.some((other, j) =>
        j === 0 ? other.startsWith(folder) : other.startsWith(folder) || folder.startsWith(other),
      );
      const path = pathBelow('datasets', i);
      const key = dataset.folder === undefined ? 'name' : 'folder';
      if (isShared) this.#refuse(`${path}.${key}`, 'a folder that nothing else uses');
      taken.push(folder);
    });
  }

  checkLimits(): void {
    const { headersMsMax, requestMsMax } = this.#config.limits.http;
    if (headersMsMax <= requestMsMax) return;
    this.#refuse('limits.http.headersMsMax', 'no more than requestMsMax');
  }

  checkRemote(): void {
    const { store, feed, role, serveUnlisted } = this.#config;
    if (feed !== undefined && store === undefined)
      this.#refuse('feed', 'a store, which the feed requires');
    if (feed === undefined && role !== 'both') this.#refuseUseless('', ['role'], 'feed');
    this.#config.datasets.forEach(({ sources }, i) => {
      const isShareable = sources.every(({ kind }) => !LOCAL_KINDS.has(kind));
      const key = `${pathBelow('datasets', i)}.sources`;
      if (feed !== undefined && !isShareable) {
        this.#refuse(key, 'sources of kind rpc or portal, which every writer can reach');
      }
    });
    if ((store?.accessKeyId === undefined) !== (store?.secretAccessKey === undefined)) {
      this.#refuse('store', 'both accessKeyId and secretAccessKey, or neither');
    }
    if (feed !== undefined && serveUnlisted && this.#tree.origins.has('serveUnlisted')) {
      this.#refuse('serveUnlisted', 'false with a feed: only listed datasets are shared');
    }
  }

  checkDialects(dialects: readonly string[], path: string): void {
    if (!dialects.includes('ledger')) this.#refuse(path, 'a list with ledger in it');
  }

  checkDataset(dataset: DatasetConfig, path: string): void {
    const { sources, keep, backfillTo, agreement, dialects } = dataset;
    if (dialects !== undefined) this.checkDialects(dialects, `${path}.dialects`);
    if (parseRetention(String(keep)) === undefined) {
      this.#refuse(`${path}.keep`, 'no more than 9 PB or 10^11 days');
    }
    if (backfillTo !== undefined && keep !== 'all') {
      this.#refuse(
        `${path}.backfillTo`,
        'keep: all, because retention would remove the loaded history',
      );
    }
    const followedCount = sources.filter(({ kind }) => kind !== 'files').length;
    if (sources.length === 0) this.#refuseUseless(path, uselessAlone, 'sources');
    else if (followedCount === 0) {
      this.#refuseUseless(path, uselessBesideFiles, 'a source that is followed');
    } else if (agreement > followedCount) {
      this.#refuse(`${path}.agreement`, `no more than the ${followedCount} sources it follows`);
    }
    if (followedCount < sources.length && keep !== 'all') {
      this.#refuse(`${path}.keep`, 'all, because removed blocks of files would be read again');
    }
    const names = new Set<string>();
    sources.forEach((source, i) => {
      const sourcePath = pathBelow(`${path}.sources`, i);
      if (source.name !== undefined && names.has(source.name)) {
        this.#refuse(`${sourcePath}.name`, 'a name that no other source of the dataset has');
      }
      if (source.name !== undefined) names.add(source.name);
      for (const { key, expected } of findSourceFaults(source)) {
        this.#refuse(`${sourcePath}.${key}`, expected);
      }
    });
  }

  /** Rejects keys that would have no effect. */
  #refuseUseless(path: string, keys: readonly string[], needs: string): void {
    for (const key of keys) {
      const whole = path === '' ? key : `${path}.${key}`;
      const origin = this.#tree.origins.get(whole);
      if (origin === undefined) continue;
      const detail = { key: whole, line: origin.line, needs };
      this.faults.push(new CodedError('config-key-useless', detail));
    }
  }

  /** The error does not repeat the value, which may be a secret. */
  #refuse(key: string, expected: string): void {
    const origin = this.#tree.origins.get(key);
    const line = origin === undefined ? {} : { line: origin.line };
    this.faults.push(new CodedError('config-value-invalid', { key, ...line, expected }));
  }
}
