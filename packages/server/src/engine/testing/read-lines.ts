/** Parses an answer so that tests can compare its records. */
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';

export interface AnswerLine {
  readonly number: number;
  readonly text: string;
  readonly records: Readonly<Record<RecordArray, readonly Readonly<Record<string, unknown>>[]>>;
  readonly isHeaderOnly: boolean;
}

export function readLines(answer: string): readonly AnswerLine[] {
  return answer
    .split('\n')
    .slice(0, -1)
    .map((text) => {
      const line = JSON.parse(text);
      const arrays = RECORD_ARRAY_NAMES.map((array) => [array, line[array] ?? []] as const);
      return {
        number: line.header.number,
        text,
        records: Object.fromEntries(arrays) as AnswerLine['records'],
        isHeaderOnly: arrays.every(([, records]) => records.length === 0),
      };
    });
}

/** Returns the lines with records. */
export function linesWithRecords(answer: string): readonly AnswerLine[] {
  return readLines(answer).filter((line) => !line.isHeaderOnly);
}
