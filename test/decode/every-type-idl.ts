/** An IDL with a field of each type, in both forms of Anchor. */
const address = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';

const fieldsWith = (key: string, defined: (name: string) => unknown) => [
  { name: 'a', type: 'u8' },
  { name: 'b', type: 'i16' },
  { name: 'c', type: 'u32' },
  { name: 'd', type: 'u64' },
  { name: 'e', type: 'u128' },
  { name: 'f', type: 'i128' },
  { name: 'g', type: 'f64' },
  { name: 'h', type: 'bool' },
  { name: 'i', type: key },
  { name: 'j', type: 'bytes' },
  { name: 'k', type: { option: 'u64' } },
  { name: 'l', type: { vec: { defined: defined('Point') } } },
  { name: 'm', type: { array: ['u16', 3] } },
  { name: 'n', type: { defined: defined('Shape') } },
  { name: 'o', type: 'string' },
];

const types = [
  {
    name: 'Point',
    type: {
      kind: 'struct',
      fields: [
        { name: 'x', type: 'i64' },
        { name: 'label', type: 'string' },
      ],
    },
  },
  {
    name: 'Shape',
    type: {
      kind: 'enum',
      variants: [
        { name: 'Empty' },
        { name: 'Round', fields: [{ name: 'radius', type: 'u64' }] },
        { name: 'Pair', fields: ['u8', 'bool'] },
      ],
    },
  },
];

export const EVERY_TYPE_IDL = {
  address,
  metadata: { name: 'every_type', version: '1.0.0', spec: '0.1.0' },
  instructions: [
    {
      name: 'everything',
      // The first eight bytes of the SHA-256 of `global:everything`, as the older form implies.
      discriminator: [254, 190, 111, 116, 130, 137, 40, 204],
      accounts: [],
      args: fieldsWith('pubkey', (name) => ({ name })),
    },
  ],
  types,
};

export const EVERY_TYPE_LEGACY_IDL = {
  version: '1.0.0',
  name: 'every_type',
  instructions: [
    { name: 'everything', accounts: [], args: fieldsWith('publicKey', (name) => name) },
  ],
  types,
};
