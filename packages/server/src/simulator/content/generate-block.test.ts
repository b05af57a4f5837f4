import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ContentInput, parseContentOptions, STRESS_PRESETS } from './content-options.ts';
import { BlockGenerator } from './generate-block.ts';
import { renderRawBlock } from './render-raw-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';

const FULL = { transactionDetails: 'full', rewards: true } as const;

function render(generator: BlockGenerator, slot: number, branch = 0): string {
  return Buffer.from(
    renderRawBlock(generator.generate(chainBlockOf(slot, branch)), FULL),
  ).toString();
}

describe('generate-block', () => {
  test('property: the same seed, branch and slot give the same bytes, whatever was made before', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(400_000_000),
        fc.nat(3),
        fc.constantFrom<ContentInput>({}, ...STRESS_PRESETS),
        (seed, slot, branch, preset) => {
          const options = parseContentOptions({ ...preset, seed });
          const busy = new BlockGenerator(options);
          busy.generate(chainBlockOf(slot + 1, branch));
          busy.generate(chainBlockOf(slot, branch + 1));
          const first = render(busy, slot, branch);
          expect(render(new BlockGenerator(options), slot, branch)).toBe(first);
          expect(render(busy, slot, branch)).toBe(first);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('behavior: another seed, branch or slot is another block', () => {
    const generator = new BlockGenerator(parseContentOptions());
    const other = new BlockGenerator(parseContentOptions({ seed: 2 }));
    const texts = [
      render(generator, 1000),
      render(generator, 1001),
      render(generator, 1000, 1),
      render(other, 1000),
    ].map((text) => text.slice(text.indexOf('"transactions"')));
    expect(new Set(texts).size).toBe(4);
  });

  test('property: what is rendered is JSON in the form a node prints', () => {
    for (const preset of [{}, ...STRESS_PRESETS]) {
      const generator = new BlockGenerator(parseContentOptions(preset));
      for (let slot = 5000; slot < 5010; slot++) {
        const text = render(generator, slot);
        expect(() => JSON.parse(text)).not.toThrow();
      }
    }
  });
});
