/** Converts unknown values into a configuration, and reports every invalid value with its line. */

import { assert } from '@sluice/base/assert';
import { CodedError, type DetailArguments, type ErrorCode } from '@sluice/base/errors';
import { findNearestName } from '@sluice/base/find-nearest-name';
import type { TSchema } from 'typebox';
import { type ConfigTree, keyOf, pathBelow } from './config-tree.ts';
import type { Annotations } from './schema-parts.ts';

export interface AppliedSchema {
  /** The configuration with all defaults. Only valid if there are no faults. */
  readonly value: unknown;
  readonly faults: readonly CodedError[];
}

export interface ApplyOptions {
  /** The folder for relative paths. */
  readonly resolvePath: (path: string) => string;
}

export function applySchema(
  schema: TSchema,
  tree: ConfigTree,
  options: ApplyOptions,
): AppliedSchema {
  const reader = new SchemaReader(tree, options);
  const value = reader.read(schema as SchemaNode, tree.value, '');
  return { value, faults: reader.faults };
}

class SchemaReader {
  readonly faults: CodedError[] = [];
  readonly #tree: ConfigTree;
  readonly #options: ApplyOptions;

  constructor(tree: ConfigTree, options: ApplyOptions) {
    this.#tree = tree;
    this.#options = options;
  }

  read(schema: SchemaNode, value: unknown, path: string): unknown {
    const kinds = schema.anyOf?.filter(({ properties }) => properties?.['kind'] !== undefined);
    if (kinds !== undefined && kinds.length > 0) return this.#readByKind(kinds, value, path);
    if (schema.properties !== undefined) return this.#readObject(schema, value, path);
    if (schema.patternProperties !== undefined) return this.#readRecord(schema, value, path);
    if (schema.items !== undefined) return this.#readList(schema, schema.items, value, path);
    return this.#readLeaf(schema, value, path);
  }

  #readByKind(kinds: readonly SchemaNode[], value: unknown, path: string): unknown {
    if (!isObject(value)) return this.#refuseShape('an object with a kind', value, path);
    const names = kinds.map(({ properties }) => properties?.['kind']?.const ?? '');
    const { kind } = value;
    if (kind === undefined) {
      return this.#refuse('config-key-missing', {
        key: pathBelow(path, 'kind'),
        ...this.#lineOf(path),
        expected: names.join(' or '),
      });
    }
    const schema = kinds.find(({ properties }) => properties?.['kind']?.const === kind);
    if (schema !== undefined) return this.#readObject(schema, value, path);
    return this.#refuseValue(names.join(' or '), kind, pathBelow(path, 'kind'));
  }

  #readObject(schema: SchemaNode, value: unknown, path: string): unknown {
    // An empty section such as `limits:` counts as absent.
    const object = value === null ? {} : value;
    if (!isObject(object)) return this.#refuseShape('keys and values', value, path);
    const properties = schema.properties ?? {};
    const read: Record<string, unknown> = {};
    for (const key of Object.keys(object)) {
      if (!Object.hasOwn(properties, key)) this.#refuseUnknown(key, Object.keys(properties), path);
    }
    for (const [key, property] of Object.entries(properties)) {
      // An empty value does not mean the default: lost keys would open the service to everyone.
      const given = object[key] === undefined ? property.default : object[key];
      const below = pathBelow(path, key);
      if (given !== undefined) read[key] = this.read(property, given, below);
      else if (schema.required?.includes(key)) {
        const expected = property.expected ?? property.description ?? '';
        this.#refuse('config-key-missing', { key: below, ...this.#lineOf(path), expected });
      }
    }
    return read;
  }

  #readRecord(schema: SchemaNode, value: unknown, path: string): unknown {
    if (!isObject(value)) return this.#refuseShape('keys and values', value, path);
    const [below = {}] = Object.values(schema.patternProperties ?? {});
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => [
        key,
        this.read(below, child, pathBelow(path, key)),
      ]),
    );
  }

  #readList(schema: SchemaNode, item: SchemaNode, value: unknown, path: string): unknown {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
    const isList = Array.isArray(value);
    if (!isList || value.length < minItems || value.length > maxItems) {
      return this.#refuseShape(describeExpected(schema), value, path);
    }
    return value.map((element, i) => this.read(item, element, pathBelow(path, i)));
  }

  #readLeaf(schema: SchemaNode, value: unknown, path: string): unknown {
    const { template } = this.#tree.origins.get(path) ?? {};
    const candidate =
      template === undefined ? toChoice(schema, value) : fromVariable(schema, value);
    if (!fitsSchema(schema, candidate)) {
      return this.#refuseValue(describeExpected(schema), value, path, schema.secret !== undefined);
    }
    const isPath = schema.path === true && typeof candidate === 'string';
    return isPath ? this.#options.resolvePath(candidate) : candidate;
  }

  #refuseUnknown(key: string, known: readonly string[], path: string): void {
    const below = pathBelow(path, key);
    const nearest = findNearestName(key, known);
    const hint = nearest === undefined ? { known: known.join(' ') } : { nearest };
    this.#refuse('config-key-unknown', { key: below, ...this.#lineOf(below), ...hint });
  }

  /** A text in place of an object is not shown, because the object may contain secrets. */
  #refuseShape(expected: string, found: unknown, path: string): undefined {
    return this.#refuseValue(expected, found, path, typeof found === 'string');
  }

  /** Values from environment variables are never shown. */
  #refuseValue(expected: string, found: unknown, path: string, isSecret = false): undefined {
    const isHidden =
      (isSecret && found !== null) || this.#tree.origins.get(path)?.template !== undefined;
    const shown = isHidden ? {} : { found: describeValue(found) };
    const detail = { ...this.#lineOf(path), ...shown, expected };
    return this.#refuse('config-value-invalid', { ...keyOf(path), ...detail });
  }

  #refuse<C extends ErrorCode>(code: C, ...detail: DetailArguments<C>): undefined {
    this.faults.push(new CodedError(code, ...detail));
  }

  #lineOf(path: string): { line?: number } {
    const origin = this.#tree.origins.get(path);
    return origin === undefined ? {} : { line: origin.line };
  }
}

/** Converts a number into a text if the schema expects one of several texts, such as `2025` without quotes. */
function toChoice({ enum: choices }: SchemaNode, value: unknown): unknown {
  const isChoice = typeof value === 'number' && choices?.includes(String(value)) === true;
  return isChoice ? String(value) : value;
}

/** Converts the text of an environment variable into a number or a boolean if the schema expects one. */
function fromVariable(schema: SchemaNode, value: unknown): unknown {
  if (typeof value !== 'string' || fitsSchema(schema, value)) return value;
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  return value === 'true' || value === 'false' ? value === 'true' : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Describes the values of a schema in words. */
export function describeExpected(schema: SchemaNode): string {
  const { type, minimum, maximum, minItems = 0, maxItems } = schema;
  if (schema.expected !== undefined) return schema.expected;
  if (schema.enum !== undefined) return schema.enum.join(' or ');
  if (type === 'array') {
    const item = schema.items === undefined ? '' : describeExpected(schema.items);
    return `a list of ${minItems} to ${maxItems}${item === '' ? '' : ` (${item})`}`;
  }
  if (type === 'integer' || type === 'number') {
    return `${type === 'integer' ? 'an integer' : 'a number'} from ${minimum} to ${maximum}`;
  }
  if (type === 'boolean') return 'true or false';
  return type === 'string' ? 'a text' : '';
}

const foundLengthMax = 64;

/** Hides addresses, which may contain a secret also where they are not expected. */
function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'keys and values';
  if (value === null) return 'nothing';
  if (typeof value !== 'string') return String(value);
  if (value.includes('://')) return 'an address';
  return value.length > foundLengthMax
    ? `a text of ${value.length} characters`
    : JSON.stringify(value);
}

/**
 * Returns whether a schema of a scalar, or a union of such schemas, allows a value. It is hand-written because our schemas use few
 * keywords, and loading the validator of the schema library took a tenth of a second of every start.
 */
export function fitsSchema(schema: SchemaNode, value: unknown): boolean {
  const { anyOf, enum: choices, type } = schema;
  if (anyOf !== undefined) return anyOf.some((alternative) => fitsSchema(alternative, value));
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

export interface SchemaNode extends Partial<Annotations> {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
}
