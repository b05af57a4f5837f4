import { CodedError } from '@sluice/base/errors';
import type { ParameterSchemas, ParameterValues } from './route.ts';

/** The keywords that the schemas of parameters use. */
interface ParameterSchema {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly description?: string;
  /** The code of the error for a value that is not allowed; `parameter-invalid` by default. */
  readonly 'x-error'?: 'parameter-invalid' | 'time-invalid';
  readonly '~optional'?: unknown;
}

const textShownMax = 80;

/** Parses the texts of a request's parameters by their schemas. Rejects unknown, repeated and missing ones by name. */
export function parseParameters<P extends ParameterSchemas>(
  schemas: P,
  texts: Readonly<Record<string, unknown>>,
): ParameterValues<P> {
  for (const name of Object.keys(texts)) {
    if (!Object.hasOwn(schemas, name)) {
      const allowed = Object.keys(schemas).join(', ') || 'no parameters';
      throw new CodedError('parameter-invalid', { path: name, allowed });
    }
  }
  const values = Object.entries<ParameterSchema>(schemas).map(([name, schema]) => {
    const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
    return [name, text === undefined ? absent(name, schema) : parse(name, schema, text)];
  });
  return Object.fromEntries(values) as ParameterValues<P>;
}

/** Returns whether a request must have the parameter. */
export function isRequired(schema: ParameterSchema): boolean {
  return schema.default === undefined && schema['~optional'] === undefined;
}

function absent(name: string, schema: ParameterSchema): unknown {
  if (!isRequired(schema)) return schema.default;
  throw new CodedError('parameter-invalid', { path: name, allowed: describeSchema(schema) });
}

function parse(name: string, schema: ParameterSchema, text: unknown): unknown {
  const value = typeof text === 'string' ? toValue(schema, text) : undefined;
  if (value !== undefined) return value;
  const found = JSON.stringify(text).slice(0, textShownMax);
  const allowed = describeSchema(schema);
  throw new CodedError(schema['x-error'] ?? 'parameter-invalid', { path: name, found, allowed });
}

function toValue(schema: ParameterSchema, text: string): string | number | undefined {
  if (schema.type !== 'integer')
    return new RegExp(schema.pattern ?? '').test(text) ? text : undefined;
  if (!/^\d{1,40}$/.test(text)) return undefined;
  // A number beyond 2^53 is above every slot, like the greatest exact one.
  const value = Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
  return value >= minimum && value <= maximum ? value : undefined;
}

function describeSchema({ type, minimum = 0, maximum, description }: ParameterSchema): string {
  if (type !== 'integer') return description ?? 'a text';
  return maximum === undefined
    ? 'a non-negative integer'
    : `an integer from ${minimum} to ${maximum}`;
}
