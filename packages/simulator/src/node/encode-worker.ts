/** The thread of `BlockEncoder`. */
import { parentPort } from 'node:worker_threads';
import { encodeBlockParts, parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { encodeSubscribeUpdate } from '@sluice/grpc/subscribe-update';
import type { EncodeReply, EncodeRequest } from './block-encoder.ts';

parentPort?.on('message', ({ hash, slot, json }: EncodeRequest) => {
  const parts = encodeBlockParts(slot, parseJsonBlock(json));
  const update = encodeSubscribeUpdate({ kind: 'block', ...parts });
  const reply: EncodeReply = { hash, update };
  parentPort?.postMessage(reply);
});
