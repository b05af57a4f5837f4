import { CodedError } from '@sluice/base/errors';
import { memberOf, messageOf } from '@sluice/protocol/unknown-value';
import type { ProgramDescription } from '../program-description.ts';
import { readAnchorIdl } from './read-anchor-idl.ts';
import { readCodamaIdl } from './read-codama-idl.ts';

/** Longer texts are not IDLs: the largest known one has 1 MB. */
export const idlLengthMax = 8 << 20;

/** Reads an IDL of Anchor, Codama or Shank. An IDL of Codama may describe several programs. Throws `idl-invalid`. */
export function readIdl(text: string): readonly ProgramDescription[] {
  if (text.length > idlLengthMax)
    throw new CodedError('idl-invalid', {
      path: 'the IDL',
      expected: `at most ${idlLengthMax} characters`,
    });
  const value = parse(text);
  return memberOf(value, 'kind') === 'rootNode' ? readCodamaIdl(value) : [readAnchorIdl(value)];
}

function parse(text: string): unknown {
  let fault: unknown;
  try {
    return JSON.parse(text);
  } catch (error) {
    fault = error;
  }
  const expected = `JSON (${messageOf(fault)})`;
  throw new CodedError('idl-invalid', { path: 'the IDL', expected }, { cause: fault });
}
