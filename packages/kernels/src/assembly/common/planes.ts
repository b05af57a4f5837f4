// Integers as byte planes: all lowest bytes first, then all second bytes, and so on. Planes of high bytes are nearly constant and compress
// to almost nothing.

/** Splits `count` integers of `width` bytes (1, 2, 4, 8) into `planes` planes of their lowest bytes. */
export function splitPlanes(input: usize, width: u32, count: u32, planes: u32, out: usize): void {
  for (let plane: u32 = 0; plane < planes; plane++) {
    let at = input + plane;
    for (let i: u32 = 0; i < count; i++) {
      store<u8>(out++, load<u8>(at));
      at += width;
    }
  }
}

/** The inverse of `splitPlanes`. `width` is the smallest of 1, 2, 4, 8 that holds `planes` bytes. */
export function joinPlanes(input: usize, planes: u32, count: u32, width: u32, out: usize): void {
  if (planes == 1 && width == 1) {
    memory.copy(out, input, count);
    return;
  }
  if (width == 2) {
    joinTwo(input, count, out);
    return;
  }
  if (width == 4) {
    joinFour(input, planes, count, out);
    return;
  }
  for (let i: u32 = 0; i < count; i++) {
    let value: u64 = 0;
    for (let plane: u32 = 0; plane < planes; plane++) {
      value |= (<u64>load<u8>(input + plane * count + i)) << (plane << 3);
    }
    store<u64>(out + (i << 3), value);
  }
}

/**
 * Writes the sums of the first 0, 1, … integers, up to all of them: as f64, or as u32 if `isNarrow`. The planes are `stride` bytes apart. With
 * a stride of 0 all integers are equal, and each plane has one byte.
 */
export function sumPlanes(
  input: usize,
  planes: u32,
  stride: u32,
  count: u32,
  isNarrow: bool,
  out: usize,
): void {
  const step: u32 = stride == 0 ? 0 : 1;
  const distance: u32 = stride == 0 ? 1 : stride;
  let sum: f64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    out = storeSum(out, sum, isNarrow);
    let value: u64 = 0;
    for (let plane: u32 = 0; plane < planes; plane++)
      value |= (<u64>load<u8>(input + plane * distance)) << (plane << 3);
    sum += <f64>value;
    input += step;
  }
  storeSum(out, sum, isNarrow);
}

// @ts-ignore: decorator
@inline
function storeSum(out: usize, sum: f64, isNarrow: bool): usize {
  if (isNarrow) store<u32>(out, <u32>(<u64>sum));
  else store<f64>(out, sum);
  return out + (isNarrow ? 4 : 8);
}

function joinTwo(input: usize, count: u32, out: usize): void {
  const high = input + count;
  let i: u32 = 0;
  for (; i + 16 <= count; i += 16) {
    const a = v128.load(input + i);
    const b = v128.load(high + i);
    v128.store(
      out + (i << 1),
      i8x16.shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
    );
    v128.store(
      out + (i << 1) + 16,
      i8x16.shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
    );
  }
  for (; i < count; i++) {
    store<u8>(out + (i << 1), load<u8>(input + i));
    store<u8>(out + (i << 1) + 1, load<u8>(high + i));
  }
}

function joinFour(input: usize, planes: u32, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) {
    let value: u32 = load<u8>(input + i);
    value |= (<u32>load<u8>(input + count + i)) << 8;
    value |= (<u32>load<u8>(input + 2 * count + i)) << 16;
    if (planes == 4) value |= (<u32>load<u8>(input + 3 * count + i)) << 24;
    store<u32>(out + (i << 2), value);
  }
}
