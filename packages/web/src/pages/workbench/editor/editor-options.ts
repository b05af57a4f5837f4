import type { Path, Problem } from '../check-query.ts';
import type { JsonObject } from '../query-model.ts';

export interface ValueSuggestion {
  readonly value: string;
  readonly text: string;
}

export interface EditorOptions {
  readonly onChange: (text: string) => void;
  /** Called for Ctrl+Enter. */
  readonly onRun: () => void;
  readonly check: (query: JsonObject) => readonly Problem[];
  /** Returns values for a position of the query, such as addresses that occur in the dataset. */
  readonly values: (path: Path) => readonly ValueSuggestion[];
}
