// Prints texts and small numbers one after the other, as a list of orders says. The host keeps its texts in this memory,
// each as its length (32 bits) and its bytes, on a boundary of 8, so that an order is a word or two:
//
//   address or number times 8, plus a code:
//     text, number
//     numbers: the bytes of a text as numbers, with commas between them
//     texts, quoted: some of a list, whose bytes are the addresses of texts, with , or "," between them; a second word says
//       which: the first in its low half, where to stop in its high one
//
// Texts are copied 16 bytes at a time: what is read or written beyond a text's end is overwritten by what follows it, so the
// memory goes on for 16 bytes after the last text and after the end of the output.
import { writeUint } from './shared/integers';

// What an order asks for. simulator/content/json-printer.ts has the same numbers.
const CODE_MASK: u32 = 7;
const TEXT: u32 = 0;
const NUMBER: u32 = 1;
const NUMBERS: u32 = 2;
const QUOTED: u32 = 4;

const COMMA: u8 = 44;
/** `","` and a byte that is overwritten. */
const QUOTES: u32 = 0x222c22;

let stopped: usize = 0;

/** The order that `print` would have carried out next. */
export function stoppedAt(): usize {
  return stopped;
}

export function memoryStart(): usize {
  return (__heap_base + 63) & ~63;
}

// @ts-ignore: decorator
@inline
function copyText(text: usize, out: usize): usize {
  const end = out + load<u32>(text);
  let from = text + 4;
  do {
    v128.store(out, v128.load(from));
    from += 16;
    out += 16;
  } while (out < end);
  return end;
}

function printNumbers(list: usize, out: usize): usize {
  const end = list + 4 + load<u32>(list);
  for (let at = list + 4; at < end; at++) {
    out = writeUint(load<u8>(at), out);
    store<u8>(out++, COMMA);
  }
  return end == list + 4 ? out : out - 1;
}

function printTexts(list: usize, range: u32, out: usize): usize {
  const end = list + 4 + ((range >> 16) << 2);
  let at = list + 4 + ((range & 0xffff) << 2);
  if (at >= end) return out;
  for (; at < end; at += 4) {
    out = copyText(load<u32>(at), out);
    store<u8>(out++, COMMA);
  }
  return out - 1;
}

function printQuoted(list: usize, range: u32, out: usize): usize {
  const end = list + 4 + ((range >> 16) << 2);
  let at = list + 4 + ((range & 0xffff) << 2);
  if (at >= end) return out;
  for (; at < end; at += 4) {
    out = copyText(load<u32>(at), out);
    store<u32>(out, QUOTES);
    out += 3;
  }
  return out - 3;
}

/** Carries out the orders from `at` to `end`, but begins none once the output reaches `limit`. Returns the output's end. */
export function print(at: usize, end: usize, out: usize, limit: usize): usize {
  while (at < end && out < limit) {
    const order = load<u32>(at);
    const code = order & CODE_MASK;
    at += 4;
    if (code == TEXT) out = copyText(order, out);
    else if (code == NUMBER) out = writeUint(order >> 3, out);
    else if (code == NUMBERS) out = printNumbers(order - code, out);
    else {
      const range = load<u32>(at);
      at += 4;
      out = code == QUOTED ? printQuoted(order - code, range, out) : printTexts(order - code, range, out);
    }
  }
  stopped = at;
  return out;
}
