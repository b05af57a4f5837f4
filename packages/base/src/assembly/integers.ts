// Decimal digits of integers.

const DIGITS = memory.data<u8>([
  48, 48, 48, 49, 48, 50, 48, 51, 48, 52, 48, 53, 48, 54, 48, 55, 48, 56, 48, 57, 49, 48, 49, 49, 49, 50, 49, 51, 49, 52,
  49, 53, 49, 54, 49, 55, 49, 56, 49, 57, 50, 48, 50, 49, 50, 50, 50, 51, 50, 52, 50, 53, 50, 54, 50, 55, 50, 56, 50, 57,
  51, 48, 51, 49, 51, 50, 51, 51, 51, 52, 51, 53, 51, 54, 51, 55, 51, 56, 51, 57, 52, 48, 52, 49, 52, 50, 52, 51, 52, 52,
  52, 53, 52, 54, 52, 55, 52, 56, 52, 57, 53, 48, 53, 49, 53, 50, 53, 51, 53, 52, 53, 53, 53, 54, 53, 55, 53, 56, 53, 57,
  54, 48, 54, 49, 54, 50, 54, 51, 54, 52, 54, 53, 54, 54, 54, 55, 54, 56, 54, 57, 55, 48, 55, 49, 55, 50, 55, 51, 55, 52,
  55, 53, 55, 54, 55, 55, 55, 56, 55, 57, 56, 48, 56, 49, 56, 50, 56, 51, 56, 52, 56, 53, 56, 54, 56, 55, 56, 56, 56, 57,
  57, 48, 57, 49, 57, 50, 57, 51, 57, 52, 57, 53, 57, 54, 57, 55, 57, 56, 57, 57,
]);

// @ts-ignore: decorator
@inline
function digitCount(value: u32): u32 {
  if (value < 10000) return value < 100 ? (value < 10 ? 1 : 2) : value < 1000 ? 3 : 4;
  if (value < 100000000) return value < 1000000 ? (value < 100000 ? 5 : 6) : value < 10000000 ? 7 : 8;
  return value < 1000000000 ? 9 : 10;
}

export function writeUint(value: u32, out: usize): usize {
  const end = out + digitCount(value);
  let at = end;
  while (value >= 100) {
    const rest = value / 100;
    at -= 2;
    store<u16>(at, load<u16>(DIGITS + ((value - rest * 100) << 1)));
    value = rest;
  }
  if (value >= 10) store<u16>(at - 2, load<u16>(DIGITS + (value << 1)));
  else store<u8>(at - 1, <u8>(48 + value));
  return end;
}

function writeEight(value: u32, out: usize): void {
  for (let pair: i32 = 6; pair >= 0; pair -= 2) {
    const rest = value / 100;
    store<u16>(out + pair, load<u16>(DIGITS + ((value - rest * 100) << 1)));
    value = rest;
  }
}

export function writeUlong(value: u64, out: usize): usize {
  if (value <= 0xffffffff) return writeUint(<u32>value, out);
  const high = value / 100000000;
  const low = <u32>(value - high * 100000000);
  if (high <= 0xffffffff) {
    out = writeUint(<u32>high, out);
  } else {
    const top = high / 100000000;
    out = writeUint(<u32>top, out);
    writeEight(<u32>(high - top * 100000000), out);
    out += 8;
  }
  writeEight(low, out);
  return out + 8;
}
