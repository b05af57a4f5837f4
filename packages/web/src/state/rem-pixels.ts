import { signal } from '@preact/signals';

/** The pixels of one rem. It is larger in very wide windows, and drawings and rows of fixed height scale with it. */
export const remPixels = signal(16);

/** Returns a length in rem as whole pixels. A component that calls this is rendered again when the value changes. */
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
