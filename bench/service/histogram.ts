const bucketCount = 60_000;

/** A histogram with a resolution of 0.1 ms, so that millions of samples need little memory. */
export class Histogram {
  readonly #buckets = new Uint32Array(bucketCount);
  #count = 0;
  #max = 0;

  get count(): number {
    return this.#count;
  }

  get max(): number {
    return this.#max;
  }

  add(ms: number): void {
    const bucket = Math.min(bucketCount - 1, Math.max(0, Math.floor(ms * 10)));
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
    this.#count++;
    this.#max = Math.max(this.#max, ms);
  }

  addAll(other: Histogram): void {
    for (const [bucket, count] of other.#buckets.entries())
      this.#buckets[bucket] = (this.#buckets[bucket] as number) + count;
    this.#count += other.#count;
    this.#max = Math.max(this.#max, other.#max);
  }

  quantile(share: number): number {
    let left = Math.ceil(this.#count * share);
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      left -= this.#buckets[bucket] as number;
      if (left <= 0) return (bucket + 1) / 10;
    }
    return this.#max;
  }
}
