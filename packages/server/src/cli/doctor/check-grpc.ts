import { GrpcChannel } from '@sluice/grpc/grpc-channel';
import { GRPC_CODES, type GrpcStatus } from '@sluice/grpc/grpc-status';
import { encodeSubscribeRequest, SUBSCRIBE_PATH } from '@sluice/grpc/subscribe-request';
import { readSubscribeUpdate } from '@sluice/grpc/subscribe-update';
import type { Config } from '../../app/config/config-schema.ts';
import type { Finding } from './check.ts';

const area = 'sources';
/** A ledger has a new slot every 400 ms. */
const updateMsMax = 10_000;
const messageBytesMax = 1 << 20;

type SourceConfig = Config['datasets'][number]['sources'][number];

/** Subscribes to the slots of a node and waits for the first one. */
export async function checkGrpc(
  name: string,
  { url, token }: Extract<SourceConfig, { kind: 'grpc' }>,
): Promise<Finding> {
  const channel = new GrpcChannel(url);
  let slot: number | undefined;
  const call = channel.open({
    path: SUBSCRIBE_PATH,
    metadata: token === undefined ? {} : { 'x-token': token },
    messageBytesMax,
    onMessage: (message) => {
      const update = readSubscribeUpdate(message);
      if (update.kind !== 'slot') return;
      slot = update.slot;
      call.cancel();
    },
  });
  const wanted = { slots: true, blocks: false, transactions: false, blockMetas: false };
  call.send(encodeSubscribeRequest({ ...wanted, commitment: 'confirmed' }));
  const message = `it sent no slot within ${updateMsMax / 1000} s`;
  AbortSignal.timeout(updateMsMax).addEventListener('abort', () =>
    call.cancel({ code: GRPC_CODES.deadlineExceeded, message }),
  );
  const status = await call.ended;
  channel.close();
  if (slot !== undefined)
    return { area, state: 'ok', text: `${name} responds, is at slot ${slot}` };
  return describeFailure(name, status);
}

const refusals: ReadonlySet<number> = new Set([
  GRPC_CODES.unauthenticated,
  GRPC_CODES.permissionDenied,
]);

function describeFailure(name: string, { code, message }: GrpcStatus): Finding {
  if (refusals.has(code))
    return {
      area,
      state: 'wrong',
      text: `${name} refuses the request: ${message}`,
      remedy: 'check its token: token of a grpc source, or SLUICE_GRPC_TOKEN',
    };
  return {
    area,
    state: 'wrong',
    text: `${name} does not send slots: ${message}`,
    remedy:
      'check its address, that it can be reached from here, and that it offers Yellowstone gRPC',
  };
}
