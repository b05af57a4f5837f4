/** Every route of the interface. `CONTRIBUTING.md` describes how to add one. */
import { accountRoute } from './account-route.ts';
import { activityRoute, coverageRoute, digestRoute } from './activity-route.ts';
import {
  datasetsRoute,
  descriptionRoute,
  finalizedHeadRoute,
  headRoute,
  metadataRoute,
  statusRoute,
  timeRoute,
} from './dataset-routes.ts';
import { blockRoute, countRoute, estimateRoute, transactionRoute } from './lookup-routes.ts';
import { programRoute } from './program-route.ts';
import type { AnyRoute } from './route.ts';
import { segmentRoute, segmentsRoute } from './segment-routes.ts';
import { SOLANA_ROUTES } from './solana-routes.ts';

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
  coverageRoute,
  digestRoute,
  estimateRoute,
  countRoute,
  programRoute,
  segmentsRoute,
  segmentRoute,
  datasetsRoute,
  ...SOLANA_ROUTES,
  descriptionRoute,
];
