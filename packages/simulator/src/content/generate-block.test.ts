import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ContentInput, parseContentOptions } from './content-options.ts';
import { BlockGenerator } from './generate-block.ts';
import { renderRawBlock } from './render-raw-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';
import { STRESS_PRESETS } from './testing/stress-presets.ts';

/** The measured factor is 1.3 to 1.8, and up to 2.8 on a busy machine. */
const RATIO_MAX = 3.4;

const HASHES: Readonly<Record<string, string>> = {
  demo: '8e56fade2f0041da6f061529664db53b3e5282e168519f44143e61982145dd74',
  '2025': 'ceb566b933281cf2a716671b61596048f1532c85d2c1d9c65053471b7f2b9969',
  'busy at an epoch start': '711b4539269a94c4176c5d15bf0f4e37f56349d00714acba4e21b3812975ff6a',
  'odd genesis': '23176933bd43c6d20f6746466d9f00e403ce7604f000c26e191cd88fb08d9f4e',
  'odd 2020': '2909dbd2d24aef388a5382b0fa8484f7629a580e99ce4ec5842b7949a2d512bc',
  'odd 2021': 'a8480d86ba69ad2cc5ede5a5ce91755e67c5d12f97b34a375cf5e890578ae7d6',
  'odd 2025': '24869e73003730375926cd0c8a40de9f073c117d9c6aa19e093b1d93bb9dbc9e',
  'odd 2026': 'd79047c173448168a82705e421d5cdd8e37b5a8ab85ceec2707135255858a715',
};

const FULL = { transactionDetails: 'full', rewards: true } as const;

function render(generator: BlockGenerator, slot: number, branch = 0): string {
  const { json } = renderRawBlock(generator.generate(chainBlockOf(slot, branch)), FULL);
  return Buffer.from(json).toString();
}

describe('generate-block', () => {
  test('property: the same seed, branch and slot give the same bytes, regardless of earlier blocks', () => {
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.nat(),
          window: fc.nat(100_000),
          offset: fc.nat(24),
          branch: fc.nat(3),
        }),
        fc.constantFrom<ContentInput>({}, ...STRESS_PRESETS),
        ({ seed, window, offset, branch }, preset) => {
          const options = parseContentOptions({ ...preset, seed });
          // The slot is near the start of a window, because all blocks before it in its window have to be run first.
          const slot = window * new BlockGenerator(options).windowSlots + offset;
          const busy = new BlockGenerator(options);
          render(busy, slot + 1, branch);
          render(busy, slot, branch + 1);
          const first = render(busy, slot, branch);
          expect(render(new BlockGenerator(options), slot, branch)).toBe(first);
          expect(render(busy, slot, branch)).toBe(first);
        },
      ),
      { numRuns: 12 },
    );
  });

  test('behavior: a window does not depend on whether the window before it was generated', () => {
    const options = parseContentOptions({ transactionsPerBlock: 60, votes: 20 });
    const walking = new BlockGenerator(options);
    const boundary = walking.windowSlots * 3;
    const slots = [boundary - 1, boundary, boundary + 40, boundary * 2 - 1, boundary - 1];
    for (const slot of slots) {
      expect(render(walking, slot)).toBe(render(new BlockGenerator(options), slot));
    }
  });

  test('behavior: a block is the same after the shared texts and state were dropped', () => {
    const content = { transactionsPerBlock: 60, votes: 20, slotsPerEpoch: 512 };
    const options = parseContentOptions({ profile: '2025', ...content });
    const forgetful = new BlockGenerator(options, { poolBytesMax: 0 });
    const keeping = new BlockGenerator(options);
    for (let slot = 512; slot < 517; slot++) {
      expect(render(forgetful, slot)).toBe(render(keeping, slot));
    }
  });

  test('behavior: another seed, branch or slot gives another block', () => {
    const generator = new BlockGenerator(parseContentOptions());
    const other = new BlockGenerator(parseContentOptions({ seed: 2 }));
    const texts = [
      render(generator, 10),
      render(generator, 11),
      render(generator, 10, 1),
      render(other, 10),
    ].map((text) => text.slice(text.indexOf('"transactions"')));
    expect(new Set(texts).size).toBe(4);
  });

  test.each<[string, ContentInput, number]>([
    ['demo', {}, 1000],
    ['2025', { profile: '2025', votes: 40 }, 300_000_000],
    [
      'busy at an epoch start',
      { profile: 'busy', votes: false, epochRewardsPerBlock: 50 },
      432_000,
    ],
    ...STRESS_PRESETS.map(
      (preset) => [`odd ${preset.era}`, preset, 77] as [string, ContentInput, number],
    ),
  ])('default: the bytes of a block are the same on every machine (%s)', (name, input, slot) => {
    // These hashes are fixed on purpose: a changed hash means another ledger for all users of the seed.
    expect(sha256(render(new BlockGenerator(parseContentOptions(input)), slot))).toBe(HASHES[name]);
  });

  test('behavior: the highest version is that of the transactions', () => {
    const inputs: ContentInput[] = [{}, { version1Rate: 0.05 }, { era: '2021' }];
    const found = inputs.map((input) => {
      const generator = new BlockGenerator(
        parseContentOptions({ ...input, transactionsPerBlock: 30 }),
      );
      return Array.from({ length: 20 }, (_, slot) => {
        const block = generator.generate(chainBlockOf(slot));
        const versions: number[] = [];
        block.forEachTransaction(({ version }) => {
          versions.push(version === 'legacy' ? -1 : version);
        });
        const { versionMax } = renderRawBlock(block, FULL);
        expect(versionMax).toBe(Math.max(...versions));
        return versionMax;
      });
    });
    expect(found.map((versions) => Math.max(...versions))).toEqual([0, 1, -1]);
  });

  test('limit: rendering a thousand transactions costs at most 3.4 times as much as parsing them', () => {
    const generator = new BlockGenerator(parseContentOptions({ profile: 'busy', votes: false }));
    const ratios: number[] = [];
    for (let slot = 300_000_000; slot < 300_000_020; slot++) {
      const start = process.cpuUsage();
      const { json: bytes } = renderRawBlock(generator.generate(chainBlockOf(slot)), FULL);
      const made = process.cpuUsage(start);
      const text = Buffer.from(bytes).toString();
      const yardstick = process.cpuUsage();
      JSON.parse(text);
      const parsed = process.cpuUsage(yardstick);
      ratios.push((made.user + made.system) / (parsed.user + parsed.system));
    }
    // The first blocks also warm up the engine and build the shared texts.
    const steady = ratios.slice(10);
    // Other programs on the machine make a block slower, never faster.
    expect(Math.min(...steady)).toBeLessThan(RATIO_MAX);
  });

  test('property: rendered blocks are valid JSON', () => {
    for (const preset of [{}, ...STRESS_PRESETS]) {
      const generator = new BlockGenerator(parseContentOptions(preset));
      for (let slot = 4096; slot < 4106; slot++) {
        const text = render(generator, slot);
        expect(() => JSON.parse(text)).not.toThrow();
      }
    }
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
