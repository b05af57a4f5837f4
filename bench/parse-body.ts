import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { parseQuery } from '@sluice/server/dist/query/parse-query.js';
import type { Query } from '@sluice/server/dist/query/query.js';

export function parseBody(body: object): Query {
  return parseQuery(body, { limits: QUERY_LIMITS, dialects: ['ledger'] });
}
