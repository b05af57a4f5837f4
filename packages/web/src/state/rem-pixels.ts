import { signal } from '@preact/signals';

/** Pixels of one rem. It grows with very wide windows, and drawings and rows of fixed height must grow with it. */
export const remPixels = signal(16);

/** Returns the whole pixels of a length in rem. A component that calls this renders again when the length changes. */
export function toPixels(rem: number): number {
  return Math.round(rem * remPixels.value);
}

export function startRemPixels(): void {
  const read = () => {
    const { fontSize } = getComputedStyle(document.documentElement);
    remPixels.value = Number.parseFloat(fontSize);
  };
  addEventListener('resize', read);
  read();
}
