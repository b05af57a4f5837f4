import { selectEveryField } from '@sluice/protocol/field-table';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { corpusBlocks } from '../corpus-blocks.ts';
import { parseBody } from '../parse-body.ts';

/** The decoded columns of the sample. */
const cacheBytesMax = 2 ** 28;

const arrays = ['transactions', 'instructions', 'logs', 'balances', 'tokenBalances', 'rewards'];

/** Every field of every record, and the header fields that the client itself needs. */
const everyField = { ...selectEveryField('ledger'), block: { number: true, hash: true } };

export interface Sample {
  readonly name: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly lines: readonly string[];
}

/** Lines of the simulator's 2025 profile, as a service sends them: with all records, and with one kind at a time. */
export function makeSamples(blockCount: number): Sample[] {
  const engine = new Engine({ cacheBytesMax });
  engine.open('corpus', buildSegment([...corpusBlocks({ seed: 1, blockCount })]));
  const choices: [string, readonly string[]][] = [
    ['everything', arrays],
    ...arrays.slice(0, 5).map((array): [string, readonly string[]] => [array, [array]]),
  ];
  return choices.map(([name, chosen]) => {
    const items = Object.fromEntries(chosen.map((array) => [array, [{}]]));
    const query = { fromBlock: 0, fields: everyField, ...items };
    const text = Buffer.concat([...engine.run('corpus', parseBody(query), { endsCoverage: true })]);
    return { name, query, lines: text.toString().trimEnd().split('\n') };
  });
}

/** Returns the text after the header of a line. */
export function tailOf(line: string): string {
  return line.slice(line.indexOf('}') + 1);
}
