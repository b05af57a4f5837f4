// Prints texts and small numbers one after the other, as a list of orders says. The host keeps its texts in this memory,
// each as its length (32 bits) and its bytes, on a boundary of 8, so that an order is one word:
//
//   address of a text, or number times 8, plus a code:  text · text and , · text and "," · number · number and ,
//
// Texts are copied 16 bytes at a time: what is read or written beyond a text's end is overwritten by what follows it, so the
// memory goes on for 16 bytes after the last text and after the end of the output.
import { writeUint } from './shared/integers';

// What an order asks for. simulator/content/json-printer.ts has the same numbers.
const CODE_MASK: u32 = 7;
const TEXT: u32 = 0;
const TEXT_COMMA: u32 = 1;
const TEXT_QUOTES: u32 = 2;
const NUMBER: u32 = 3;

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

/** Carries out the orders from `at` to `end`, but begins none once the output reaches `limit`. Returns the output's end. */
export function print(at: usize, end: usize, out: usize, limit: usize): usize {
  for (; at < end && out < limit; at += 4) {
    const order = load<u32>(at);
    const code = order & CODE_MASK;
    if (code >= NUMBER) {
      out = writeUint(order >> 3, out);
      if (code == NUMBER) continue;
      store<u8>(out++, COMMA);
      continue;
    }
    out = copyText(order - code, out);
    if (code == TEXT) continue;
    if (code == TEXT_COMMA) store<u8>(out++, COMMA);
    else if (code == TEXT_QUOTES) {
      store<u32>(out, QUOTES);
      out += 3;
    }
  }
  stopped = at;
  return out;
}
