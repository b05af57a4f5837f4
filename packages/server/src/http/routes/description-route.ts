import Type from 'typebox';
import { buildOpenApi } from '../openapi.ts';
import { defineRoute, json } from './route.ts';

export const descriptionRoute = defineRoute({
  method: 'GET',
  url: '/openapi.json',
  operationId: 'getDescription',
  isOpen: true,
  summary: 'This description.',
  answer: Type.Object({}),
  // Built for each request, because a reload may change the limits in it.
  handle: ({ context }) => json(buildOpenApi(context)),
});
