import { type Diagnostic, linter } from '@codemirror/lint';
import type { Extension } from '@codemirror/state';
import type { Problem } from '../check-query.ts';
import { type JsonObject, parseText } from '../query-model.ts';
import { findBreak, findPlace } from './json-ranges.ts';

const delayMs = 250;

/** Underlines the parts of a query that the service would refuse. */
export function buildLinter(check: (query: JsonObject) => readonly Problem[]): Extension {
  return linter(
    ({ state }) => {
      const parsed = parseText(state.doc.toString());
      if (parsed.kind === 'broken') {
        return [{ ...findBreak(state), severity: 'error', message: parsed.message }];
      }
      return check(parsed.query).map(({ path, message }): Diagnostic => {
        const { from, to } = findPlace(state, path);
        return { from, to, severity: 'error', message };
      });
    },
    { delay: delayMs },
  );
}
