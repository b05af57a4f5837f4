import type { Clock } from '@sluice/base/clock';
import { findCredentials } from '../../object-store/credentials.ts';
import type { ObjectStore } from '../../object-store/object-store.ts';
import type { Environment } from '../../object-store/role-credentials.ts';
import { S3Client } from '../../object-store/s3-client.ts';
import type { StoreConfig } from '../config/remote-schema.ts';

export interface OpenStoreDependencies {
  readonly clock: Clock;
  readonly environment: Environment;
  /** Returns a number from 0 to 1, for the waits between retries. */
  readonly random: () => number;
}

export function openStore(config: StoreConfig, dependencies: OpenStoreDependencies): ObjectStore {
  const { bucket, prefix, region, requestMsMax, requestCountMax } = config;
  const endpoint = config.endpoint ?? `https://s3.${region}.amazonaws.com`;
  const pathStyle = config.pathStyle ?? config.endpoint !== undefined;
  const connectionCountMax = requestCountMax + spareConnections;
  const options = { bucket, prefix, region, requestMsMax, endpoint, pathStyle, connectionCountMax };
  const credentials = findCredentials(config, dependencies.environment, dependencies.clock);
  return new S3Client(options, { ...dependencies, credentials });
}

/** For uploads and manifests, in addition to the reads of queries. */
const spareConnections = 4;
