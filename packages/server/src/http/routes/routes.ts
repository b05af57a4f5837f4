/** Every route of the interface. `CONTRIBUTING.md` describes how to add one. */
import { accountRoute } from './account-route.ts';
import { activityRoute } from './activity-route.ts';
import { blockRoute } from './block-route.ts';
import {
  datasetsRoute,
  finalizedHeadRoute,
  headRoute,
  metadataRoute,
  statusRoute,
} from './dataset-routes.ts';
import { descriptionRoute } from './description-route.ts';
import { estimateRoute } from './estimate-route.ts';
import type { AnyRoute } from './route.ts';
import { SOLANA_ROUTES } from './solana-routes.ts';
import { timeRoute } from './time-route.ts';
import { transactionRoute } from './transaction-route.ts';

export const ROUTES: readonly AnyRoute[] = [
  {
    kind: 'stream',
    method: 'POST',
    url: '/datasets/:name/stream',
    operationId: 'streamBlocks',
    summary: 'Blocks that match a query, the newest included.',
    finalizedOnly: false,
  },
  {
    kind: 'stream',
    method: 'POST',
    url: '/datasets/:name/finalized-stream',
    operationId: 'streamFinalizedBlocks',
    summary: 'Finalized blocks that match a query.',
    finalizedOnly: true,
  },
  metadataRoute,
  headRoute,
  finalizedHeadRoute,
  statusRoute,
  timeRoute,
  blockRoute,
  transactionRoute,
  accountRoute,
  activityRoute,
  estimateRoute,
  datasetsRoute,
  ...SOLANA_ROUTES,
  descriptionRoute,
];
