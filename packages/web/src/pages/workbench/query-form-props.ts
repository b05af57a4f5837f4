import type { JsonObject } from './query-model.ts';

export interface QueryFormProps {
  readonly dataset: string;
  readonly query: JsonObject;
  readonly onChange: (query: JsonObject) => void;
}
