/** Parses the selector `fields` of a query into the fields to send for each kind, in wire order. */

import type { Dialect } from '@sluice/protocol/dialect';
import { defaultFieldNames, fieldNames, KINDS, type Kind } from '@sluice/protocol/field-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { FieldLists } from './query.ts';
import {
  type JsonObject,
  joinPath,
  ownValue,
  requireBoolean,
  requireKnownKeys,
  requireObject,
} from './query-refusal.ts';

const path = 'fields';

export function parseFields(body: JsonObject, dialect: Dialect): FieldLists {
  const value = ownValue(body, path);
  if (value === undefined) return toLists((kind) => defaultFieldNames(kind, dialect));
  const selectors = requireObject(value, path);
  requireKnownKeys(selectors, KINDS, path);
  return toLists((kind) => parseSelector(selectors, kind, dialect));
}

function parseSelector(selectors: JsonObject, kind: Kind, dialect: Dialect): readonly string[] {
  const kindPath = joinPath(path, kind);
  const value = ownValue(selectors, kind);
  const selector = value === undefined ? {} : requireObject(value, kindPath);
  const names: readonly string[] = fieldNames(kind, dialect);
  requireKnownKeys(selector, names, kindPath);
  return names.filter((name) => {
    const wanted = ownValue(selector, name);
    const isEnabled = wanted !== undefined && requireBoolean(wanted, joinPath(kindPath, name));
    // The number is always sent, because a client needs it to resume.
    return isEnabled || (kind === 'block' && name === 'number');
  });
}

function toLists(namesOf: (kind: Kind) => readonly string[]): FieldLists {
  // The names come from the table from which the type is derived.
  return mapKeys(KINDS, namesOf) as FieldLists;
}
