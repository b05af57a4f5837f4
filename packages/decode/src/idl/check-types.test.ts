/** What an IDL is refused for, and what its error says. */
import { isCodedError } from '@sluice/base/errors';
import { describe, expect, test } from 'vitest';
import { readIdl } from './read-idl.ts';

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

describe('types', () => {
  test('error: a type that is not defined is named with its place', () => {
    expect(refusalOf(withArgument(defined('Nope')))).toContain(
      'path pair of instruction swap, expected a type that the IDL defines; Nope is not defined',
    );
    const nested = withArgument({ vec: defined('Node') }, [struct('Node', defined('Nope'))]);
    expect(refusalOf(nested)).toContain('path next of type Node, ');
    const event = {
      name: 'Swapped',
      discriminator: [2],
      fields: [{ name: 'by', type: defined('Nope') }],
    };
    const idl = { address, metadata: { name: 'amm' }, instructions: [], events: [event] };
    expect(refusalOf(idl)).toContain('path by of event Swapped, ');
  });

  test('default: a type that is not defined is accepted if no instruction and no event uses it', () => {
    expect(refusalOf(withArgument('u8', [struct('Unused', defined('Nope'))]))).toBe('none');
  });

  const node = defined('Node');
  const variants = (fields: readonly unknown[]) => [
    { name: 'Node', type: { kind: 'enum', variants: fields } },
  ];
  test.each([
    ['a struct in itself', [struct('Node', node)]],
    ['an alias of itself', [{ name: 'Node', type: { kind: 'type', alias: node } }]],
    ['two structs in each other', [struct('Node', defined('Leaf')), struct('Leaf', node)]],
    ['an array of a fixed length', [struct('Node', { array: [node, 2] })]],
    ['an option of a fixed length', [struct('Node', { coption: node })]],
    ['an enum of which every variant', variants([{ name: 'a', fields: [node] }])],
  ])('error: %s contains itself without end', (_name, types) => {
    expect(refusalOf(withArgument(node, types))).toContain(
      'path pair of instruction swap, expected a type that ends; a value of Node contains others without end',
    );
  });

  test.each([
    ['a list', [struct('Node', { vec: node })]],
    ['an option', [struct('Node', { option: node })]],
    ['an array without items', [struct('Node', { array: [node, 0] })]],
    ['an enum with another variant', variants([{ name: 'a', fields: [node] }, { name: 'b' }])],
  ])('default: %s may contain itself', (_name, types) => {
    expect(refusalOf(withArgument(node, types))).toBe('none');
  });

  test('limit: a chain of 50,000 types is read without exhausting the stack', () => {
    const types = Array.from({ length: 50_000 }, (_, i) =>
      struct(`T${i}`, i === 0 ? 'u8' : defined(`T${i - 1}`)),
    );
    expect(refusalOf(withArgument(defined('T49999'), types))).toBe('none');
  });

  test('error: a link of Codama that is not defined is named with its place', () => {
    const type = { kind: 'definedTypeLinkNode', name: 'nope' };
    const instruction = { kind: 'instructionNode', name: 'swap', arguments: [{ name: 'a', type }] };
    const program = { name: 'amm', publicKey: address, instructions: [instruction] };
    expect(refusalOf({ kind: 'rootNode', program })).toContain(
      'path a of instruction swap, expected a type that the IDL defines; nope is not defined',
    );
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
