import type { Retention } from '../../dataset/retention.ts';

const daySeconds = 86_400;
/** Powers of 1000. */
const byteUnits = { KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 } as const;

export const retentionPattern = /^([1-9]\d{0,14})(d|[KMGT]B)?$/;

/** Parses a retention policy: `all`, `100000` blocks, `7d` days by the ledger's time, or `50GB` of segments. Returns `undefined` otherwise. */
export function parseRetention(text: string): Retention | undefined {
  if (text === 'all') return { kind: 'all' };
  const [, digits, unit = ''] = retentionPattern.exec(text) ?? [];
  return digits === undefined ? undefined : toRetention(Number(digits), unit);
}

function toRetention(amount: number, unit: string): Retention | undefined {
  if (unit === '') return { kind: 'blocks', count: amount };
  if (unit === 'd') {
    const seconds = amount * daySeconds;
    return Number.isSafeInteger(seconds) ? { kind: 'seconds', seconds } : undefined;
  }
  const bytes = amount * byteUnits[unit as keyof typeof byteUnits];
  return Number.isSafeInteger(bytes) ? { kind: 'bytes', bytes } : undefined;
}
