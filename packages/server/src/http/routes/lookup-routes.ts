import { accountRoute } from './account-route.ts';
import { activityRoute } from './activity-route.ts';
import { blockRoute } from './block-route.ts';
import { estimateRoute } from './estimate-route.ts';
import type { Route } from './route.ts';
import { transactionRoute } from './transaction-route.ts';

export const LOOKUP_ROUTES: readonly Route[] = [
  blockRoute,
  transactionRoute,
  accountRoute,
  activityRoute,
  estimateRoute,
];
