/** Compiles the description of a program to a decoder that the kernel runs. It gives the same texts as `ProgramDecoder`. */
import * as layout from '@sluice/kernels/layout/decoding';
import { CodeWriter } from './code-writer.ts';
import { CodeCompiler } from './compile-code.ts';
import { byFirstByte } from './find-layout.ts';
import { isPlain, isRequired, NO_LAYOUT } from './program-decoder.ts';
import type {
  IdlAccount,
  IdlInstruction,
  IdlLayout,
  ProgramDescription,
} from './program-description.ts';

/** A larger decoder is not worth copying into the memory of each kernel; the host decodes its data. */
const decoderBytesMax = 1 << 20;

const ABSENT = {
  program: layout.ABSENT_PROGRAM,
  omitted: layout.ABSENT_OMITTED,
} as const;

const decoders = new WeakMap<ProgramDescription, Uint8Array>();
let unknown: Uint8Array | undefined;

/** Returns the decoder of a program, or of programs without a description. */
export function decoderFor(description: ProgramDescription | undefined): Uint8Array {
  if (description === undefined) {
    unknown ??= compile({ program: null, instructions: [], events: [] });
    return unknown;
  }
  let decoder = decoders.get(description);
  if (decoder === undefined) {
    const { name, address, types, instructions, events } = description;
    const isFit = [...instructions, ...events].every(isSizeFit);
    if (isFit) decoder = compile({ program: name, address, types, instructions, events });
    if (decoder === undefined || decoder.length > decoderBytesMax)
      decoder = compileForHost(description);
    decoders.set(description, decoder);
  }
  return decoder;
}

interface Program {
  readonly program: string | null;
  readonly address?: string | undefined;
  readonly types?: ProgramDescription['types'];
  readonly instructions: readonly IdlInstruction[];
  readonly events: readonly IdlLayout[];
}

function compile({ program, address, types, instructions, events }: Program): Uint8Array {
  const out = new CodeWriter();
  const code = new CodeCompiler(types ?? new Map(), out);
  const start = `{"program":${JSON.stringify(program)},"name":`;
  const compiled = (layouts: readonly IdlInstruction[]) =>
    layouts.map((layout) => ({ layout, at: writeLayout(out, code, layout, start) }));
  const eventLayouts = events.map((event) => ({ ...event, accounts: [] }));
  writeTable(out, layout.DECODER_INSTRUCTIONS, compiled(instructions));
  writeTable(out, layout.DECODER_EVENTS, compiled(eventLayouts));
  code.finish();
  const texts: readonly [at: number, text: string][] = [
    [layout.DECODER_ADDRESS, JSON.stringify(address ?? '')],
    [layout.DECODER_NO_INSTRUCTION, noLayout(start, program === null ? 'program' : 'instruction')],
    [layout.DECODER_NO_EVENT, noLayout(start, program === null ? 'program' : 'event')],
  ];
  for (const [at, text] of texts) {
    out.set(at, out.at);
    out.bytes(Buffer.from(text));
  }
  out.set(layout.DECODER_HAS_EVENTS, events.length > 0 ? 1 : 0);
  return out.finish();
}

/** Returns whether the sizes in a layout are integers of 31 bits, as those of real data. */
function isSizeFit({ byteLength = 0, fieldsAt, discriminators }: IdlLayout): boolean {
  const sizes = [byteLength, fieldsAt, ...discriminators.map(({ offset }) => offset)];
  return sizes.every((size) => Number.isInteger(size) && size >= 0 && size < 2 ** 31);
}

/** Returns a decoder that leaves all data to the host. */
function compileForHost({ events }: ProgramDescription): Uint8Array {
  const field = { name: 'data', type: { kind: 'float', bytes: 8 } } as const;
  const any = { name: '', discriminators: [], fieldsAt: 0, fields: [field], accounts: [] };
  return compile({ program: '', instructions: [any], events: events.length > 0 ? [any] : [] });
}

const noLayout = (start: string, reason: keyof typeof NO_LAYOUT) =>
  `${start}null,"error":${JSON.stringify(NO_LAYOUT[reason])},"raw":"0x`;

/** Writes which layouts may match, by the first byte of the data. */
function writeTable(
  out: CodeWriter,
  tableAt: number,
  layouts: readonly { readonly layout: IdlLayout; readonly at: number }[],
): void {
  const lists = new Map<string, number>();
  for (const [byte, candidates] of byFirstByte(layouts).entries()) {
    const offsets = candidates.map(({ at }) => at);
    const key = offsets.join();
    const at = lists.get(key) ?? out.at;
    if (!lists.has(key)) out.words(offsets.length, ...offsets);
    lists.set(key, at);
    out.set(tableAt + byte * 4, at);
  }
}

/** Returns where the layout is. */
function writeLayout(
  out: CodeWriter,
  code: CodeCompiler,
  { name, discriminators, byteLength, fieldsAt, fields, accounts }: IdlInstruction,
  start: string,
): number {
  const codeAt = out.at;
  out.block(() => {
    out.text(`${start}${JSON.stringify(name)},"args":{`);
    code.fields(fields);
    out.text('}');
  });
  const accountsAt = out.at;
  for (const [i, account] of accounts.entries()) writeAccount(out, account, i === 0);
  const at = out.at;
  const requiredCount = accounts.filter(isRequired).length;
  out.words(byteLength ?? layout.ANY_LENGTH, fieldsAt, codeAt, accountsAt, accounts.length);
  out.words(requiredCount, accounts.every(isPlain) ? 1 : 0, discriminators.length);
  for (const { offset, bytes } of discriminators) {
    out.words(offset);
    out.bytes(bytes);
  }
  return at;
}

function writeAccount(
  out: CodeWriter,
  { name, absent, address }: IdlAccount,
  isFirst: boolean,
): void {
  out.words(absent === undefined ? layout.ABSENT_NEVER : ABSENT[absent]);
  out.bytes(Buffer.from(`${isFirst ? '' : ','}${JSON.stringify(name)}:`));
  out.bytes(Buffer.from(address === undefined ? '' : JSON.stringify(address)));
}
