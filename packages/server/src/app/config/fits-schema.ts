import { assert } from '@sluice/base/assert';
import type { SchemaNode } from './schema-node.ts';

/**
 * Returns whether a schema of a scalar, or a union of such schemas, allows a value. It is hand-written because our schemas use few
 * keywords, and loading the validator of the schema library took a tenth of a second of every start.
 */
export function fitsSchema(schema: SchemaNode, value: unknown): boolean {
  const { anyOf, enum: choices, type } = schema;
  if (anyOf !== undefined) return anyOf.some((one) => fitsSchema(one, value));
  if (choices !== undefined) return typeof value === 'string' && choices.includes(value);
  if (schema.const !== undefined) return value === schema.const;
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'string') return typeof value === 'string' && fitsText(schema, value);
  assert(type === 'integer' || type === 'number', 'a leaf is a text, a number or a truth value');
  return typeof value === 'number' && fitsNumber(schema, value);
}

function fitsText({ minLength = 0, pattern }: SchemaNode, text: string): boolean {
  return text.length >= minLength && (pattern === undefined || new RegExp(pattern).test(text));
}

function fitsNumber({ type, minimum, maximum }: SchemaNode, value: number): boolean {
  const isOfType = type === 'integer' ? Number.isInteger(value) : Number.isFinite(value);
  const isAbove = minimum === undefined || value >= minimum;
  return isOfType && isAbove && (maximum === undefined || value <= maximum);
}
