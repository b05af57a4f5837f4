/** The limits that affect clients, in the order of the documentation. */
export const limitTexts: readonly (readonly [string, string])[] = [
  ['bodyBytesMax', 'bytes of a body, on the wire and decoded'],
  ['depthMax', 'levels of objects and arrays'],
  ['itemCountMax', 'items of all arrays together'],
  ['listValueCountMax', 'values of one list'],
  ['valueCountMax', 'values of all lists together'],
  ['headerBytesMax', 'bytes of headers'],
  ['headersMsMax', 'milliseconds for the headers to arrive'],
  ['requestMsMax', 'milliseconds for a whole request to arrive'],
  ['stallMsMax', 'milliseconds after which a reader that takes no byte is disconnected'],
  ['connectionCountMax', 'connections'],
  ['streamCountMax', 'open streams'],
];
