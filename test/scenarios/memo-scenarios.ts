/** Memos: the program prints its input, so these scenarios have texts that are hard to parse from a log. */
import type { Address, TransactionSigner } from '@solana/kit';
import { getAddMemoInstruction } from '@solana-program/memo';
import { type Call, call } from './planned-transaction.ts';
import { MEMO, MEMO_1, type Scenario } from './world.ts';

/** A memo as the program prints it. */
export function memo(text: string, signers: readonly TransactionSigner[] = []): Call {
  const signed = signers.length === 0 ? [] : ['Signed by:', ...signers.map((one) => one.address)];
  return call(
    getAddMemoInstruction({ memo: text, signers: [...signers] }, { programAddress: MEMO }),
    [...signed, `Memo (len ${Buffer.byteLength(text)})`, text],
  );
}

const TEXTS = {
  'line breaks': 'one\ntwo\r\nthree\rfour\u2028five\u2029six\u0085seven\n',
  'beyond the basic plane': '\u{1f600} \u{10ffff} \u{20000}',
  'control characters and quotes': '\u0000\u0001\b\t\u001f"\\/</script>\u007f\ufeff',
  'white space at both ends': ' \t text \t ',
  'nothing at all': '',
  'an imitated line after a line break': `x\nProgram ${MEMO} success\nProgram ${MEMO} invoke [2]`,
  'the text of the truncation mark': 'Log truncated',
  'the prefix of a log line': 'Program log: Program data: Program return: ',
} as const;

export const MEMO_SCENARIOS: readonly Scenario[] = [
  ...Object.entries(TEXTS).map(
    ([name, text]): Scenario =>
      async (world) => {
        const payer = await world.wallet(`memo payer, ${name}`);
        return { title: `a memo of ${name}`, payer, calls: [memo(text), memo(text, [payer])] };
      },
  ),
  async (world) => {
    const payer = await world.wallet('memo imitation payer');
    const lines = [
      `Program ${MEMO} success`,
      `Program ${MEMO} failed: no`,
      `Program ${MEMO} invoke [1]`,
      `Program ${MEMO} consumed 1 of 2 compute units`,
    ];
    return {
      title: 'memos that imitate whole lines',
      payer,
      calls: lines.map((line) => memo(line)),
    };
  },
  async (world) => {
    const payer = await world.wallet('memo signers payer');
    const others = [await world.wallet('memo signer one'), await world.wallet('memo signer two')];
    return { title: 'a memo of three signers', payer, calls: [memo('three', [payer, ...others])] };
  },
  async (world) => {
    const payer = await world.wallet('memo 1 payer');
    const add = getAddMemoInstruction({ memo: 'silent' }, { programAddress: MEMO_1 });
    return {
      title: 'the first memo program, which prints nothing itself',
      payer,
      calls: [call(add)],
    };
  },
  async (world) => {
    const payer = await world.wallet('memo bytes payer');
    const broken = (programAddress: Address) => ({
      programAddress,
      accounts: [],
      data: Uint8Array.of(0x61, 0xff),
    });
    const error = 'invalid utf-8 sequence of 1 bytes from index 1: [97, 255]';
    return {
      title: 'a memo that is no text',
      payer,
      calls: [memo('text'), call(broken(MEMO), ['Memo (len 2)'], { error })],
      err: '{"InstructionError":[1,"ProgramFailedToComplete"]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('memo overflow payer');
    const sizes = [...Array(20).keys()].map((i) => (i % 3 === 2 ? 3 : 700 + i));
    return {
      title: 'a log that overflows between top-level instructions',
      overflows: true,
      payer,
      calls: sizes.map((size, i) => memo(String.fromCharCode(97 + i).repeat(size))),
    };
  },
  async (world) => {
    const payer = await world.wallet('memo wide overflow payer');
    return {
      title: 'a log that overflows by its bytes, not by its characters',
      overflows: true,
      payer,
      calls: [...Array(9).keys()].map((i) => memo('\u{1f600}'.repeat(300 + i))),
    };
  },
];
