/** The schemas that parameters and responses of several routes share. */
import Type, { type TSchema } from 'typebox';

export const slot = (description: string) => Type.Integer({ minimum: 0, description });

export const address = Type.String({
  pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$',
  description: 'base58 of 32 bytes',
});

export const signature = Type.String({
  pattern: '^[1-9A-HJ-NP-Za-km-z]{64,88}$',
  description: 'base58 of 64 bytes',
});

export const limit = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 100, default: 20, description });

export const count = (description?: string) =>
  Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) });

/** The line of a block in the dialect `ledger`. */
export const line: TSchema = Type.Unsafe({ $ref: '#/components/schemas/Line-ledger' });
