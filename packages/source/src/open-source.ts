/** Opens a source by its kind. Every kind of source that is followed has an entry here. */
import { unreachable } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import type { Random } from '@sluice/base/random';
import { ArchiveSource, type ArchiveSourceOptions } from './archive/archive-source.ts';
import { GrpcSource, type GrpcSourceOptions } from './grpc/grpc-source.ts';
import { PortalSource, type PortalSourceOptions } from './portal/portal-source.ts';
import type { FetchThread } from './rpc/fetch-thread.ts';
import { RpcSource, type RpcSourceOptions } from './rpc/rpc-source.ts';
import type { Source } from './source.ts';

export type SourceOptions =
  | RpcSourceOptions
  | GrpcSourceOptions
  | PortalSourceOptions
  | ArchiveSourceOptions;

export interface SourceDependencies {
  readonly clock: Clock;
  readonly random: Random;
  /** Reads the replies with blocks in another thread. */
  readonly fetchThread?: FetchThread;
  /** Called once for a source whose WebSocket does not work, so that the source is polled. */
  readonly onPolled?: (sourceName: string) => void;
  /** Receives how long each call to a source took, also of calls that failed. */
  readonly observeSourceCall?: (sourceName: string, call: string, seconds: number) => void;
  /** Replaces the opening of a source by its kind. */
  readonly open?: (options: SourceOptions) => Source;
}

export function openSource(options: SourceOptions, given: SourceDependencies): Source {
  if (given.open !== undefined) return given.open(options);
  const observeCall = (call: string, seconds: number) =>
    given.observeSourceCall?.(options.name, call, seconds);
  const dependencies = { ...given, observeCall };
  switch (options.kind) {
    case 'rpc':
      return new RpcSource(options, dependencies);
    case 'grpc':
      return new GrpcSource(options, dependencies);
    case 'portal':
      return new PortalSource(options, dependencies);
    case 'archive':
      return new ArchiveSource(options);
    default:
      return unreachable(options);
  }
}
