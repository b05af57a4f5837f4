/** Which types an IDL lacks, what it is refused for, and what the error says. */
import { isCodedError } from '@sluice/base/errors';
import { describe, expect, test } from 'vitest';
import { readIdl } from './read-idl.ts';
import { listUndefinedTypes } from './undefined-types.ts';

const address = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';

function refusalOf(idl: object): string {
  try {
    readIdl(JSON.stringify(idl));
  } catch (error) {
    if (isCodedError(error, 'idl-invalid')) return error.message;
    throw error;
  }
  return 'none';
}

/** An IDL of Anchor with one argument. */
const withArgument = (type: unknown, types: readonly object[] = []) => ({
  address,
  metadata: { name: 'amm' },
  instructions: [{ name: 'swap', discriminator: [1], args: [{ name: 'pair', type }] }],
  types,
});
const defined = (name: string) => ({ defined: { name } });
const struct = (name: string, type: unknown) => ({
  name,
  type: { kind: 'struct', fields: [{ name: 'next', type }] },
});

const undefinedIn = (idl: object) => readIdl(JSON.stringify(idl)).flatMap(listUndefinedTypes);

describe('types', () => {
  test('behavior: a type that is not defined is listed once, with its place', () => {
    expect(undefinedIn(withArgument(defined('Nope')))).toEqual(['Nope (pair of instruction swap)']);
    const nested = withArgument({ vec: defined('Node') }, [struct('Node', defined('Nope'))]);
    expect(undefinedIn(nested)).toEqual(['Nope (next of type Node)']);
    const event = {
      name: 'Swapped',
      discriminator: [2],
      fields: [{ name: 'by', type: defined('Nope') }],
    };
    const idl = { address, metadata: { name: 'amm' }, instructions: [], events: [event] };
    expect(undefinedIn(idl)).toEqual(['Nope (by of event Swapped)']);
  });

  test('default: types that no instruction and no event uses are not listed, and recursion ends', () => {
    const types = [struct('Unused', defined('Nope')), struct('Node', { vec: defined('Node') })];
    expect(undefinedIn(withArgument(defined('Node'), types))).toEqual([]);
  });

  test('limit: a chain of 50,000 types is read without exhausting the stack', () => {
    const types = Array.from({ length: 50_000 }, (_, i) =>
      struct(`T${i}`, i === 0 ? 'u8' : defined(`T${i - 1}`)),
    );
    expect(undefinedIn(withArgument(defined('T49999'), types))).toEqual([]);
  });

  test('behavior: a link of Codama that is not defined is listed', () => {
    const type = { kind: 'definedTypeLinkNode', name: 'nope' };
    const instruction = { kind: 'instructionNode', name: 'swap', arguments: [{ name: 'a', type }] };
    const program = { name: 'amm', publicKey: address, instructions: [instruction] };
    expect(undefinedIn({ kind: 'rootNode', program })).toEqual(['nope (a of instruction swap)']);
  });
});

describe('members', () => {
  const instructions = [{ name: 'a' }];
  test.each([
    ['no name', {}, 'path metadata.name, expected a text, the name of the program'],
    ['no name but an address', { address, instructions }, 'path metadata.name, '],
    ['a name that is no text', { name: 5 }, 'path name, expected a text'],
    [
      'a discriminator that is no list',
      { address, metadata: { name: 'x' }, instructions: [{ name: 'a', discriminator: 5 }] },
      'path instructions[0].discriminator, expected a list',
    ],
    [
      'a byte that is too large',
      { address, metadata: { name: 'x' }, instructions: [{ name: 'a', discriminator: [1, 256] }] },
      'path instructions[0].discriminator[1], expected a byte',
    ],
    [
      'an argument without a type',
      { name: 'x', instructions: [{ name: 'a', args: [{ name: 'b' }] }] },
      'path instructions[0].args[0].type, expected an object',
    ],
    [
      'a program of Codama without a name',
      { kind: 'rootNode', program: { publicKey: address } },
      'path program.name, expected a text',
    ],
  ])('error: %s', (_name, idl, expected) => {
    expect(refusalOf(idl)).toContain(expected);
  });
});
