import { CodedError } from '@sluice/base/errors';
import { describeProgram } from '@sluice/decode/describe-program';
import Type, { type TSchema } from 'typebox';
import { address } from './parameter-schemas.ts';
import { defineRoute, json } from './route.ts';

const fields: TSchema = Type.Array(
  Type.Object({
    name: Type.String(),
    type: Type.String({
      description: '`u64`, `i128`, `f64`, `bool`, `address`, `bytes`, `text`, `struct`, `json`, …',
    }),
    isOptional: Type.Optional(Type.Literal(true)),
    fields: Type.Optional(Type.Array(Type.Unsafe({}), { description: 'Of a struct.' })),
  }),
);

export const programRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/programs/:programId',
  operationId: 'getProgram',
  summary: 'The names and types by which the instructions and events of a program are decoded.',
  parameters: { programId: address },
  response: Type.Object({
    programId: Type.String(),
    program: Type.String(),
    instructions: Type.Array(
      Type.Object({ name: Type.String(), args: fields, accounts: Type.Array(Type.String()) }),
    ),
    events: Type.Array(Type.Object({ name: Type.String(), args: fields })),
  }),
  handle: ({ context, parameters: { programId } }) => {
    const descriptions = context.idls?.().descriptions(programId) ?? [];
    if (descriptions.length === 0) throw new CodedError('program-unknown', { path: 'programId' });
    return json(describeProgram(programId, descriptions));
  },
});
