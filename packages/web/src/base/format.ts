/** Formats numbers, quantities and times. 64-bit integers are bigints and never become numbers. */
const integers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const lamportDecimals = 9;

export function formatInteger(value: number | bigint): string {
  return integers.format(value);
}

/** Returns a rate with a suitable number of digits. */
export function formatRate(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value >= 100) return integers.format(Math.round(value));
  return value.toFixed(value >= 10 ? 1 : 2);
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_000 && unit < byteUnits.length - 1) {
    value /= 1_000;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${byteUnits[unit] ?? 'B'}`;
}

/** Returns an amount of a token's smallest unit with its decimal point and every digit. */
export function formatAmount(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? '−' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return `${sign}${grouped}${fraction === '' ? '' : `.${fraction}`}`;
}

export function formatLamports(lamports: bigint): string {
  return `${formatAmount(lamports, lamportDecimals)} SOL`;
}

/** Returns a change with its sign. */
export function formatChange(change: bigint, decimals: number): string {
  return change > 0n ? `+${formatAmount(change, decimals)}` : formatAmount(change, decimals);
}

const times = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'medium',
  timeZone: 'UTC',
});

/** The largest time that a `Date` can represent, in seconds. */
const secondsMax = 8_640_000_000_000n;

export function formatTime(seconds: bigint): string {
  if (seconds > secondsMax || seconds < -secondsMax) return String(seconds);
  return `${times.format(Number(seconds) * 1_000)} UTC`;
}

const timesOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'UTC' });

/** Returns the hours, minutes and seconds, without the date. */
export function formatTimeOfDay(seconds: bigint): string {
  if (seconds > secondsMax || seconds < -secondsMax) return String(seconds);
  return timesOfDay.format(Number(seconds) * 1_000);
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86_400) {
    return `${Math.floor(seconds / 3_600)} h ${Math.round((seconds % 3_600) / 60)} min`;
  }
  return `${Math.floor(seconds / 86_400)} d ${Math.round((seconds % 86_400) / 3_600)} h`;
}

/** Returns the first and last characters of a long text, which usually identify an address. */
export function shorten(text: string, keep = 4): string {
  return text.length <= 2 * keep + 3 ? text : `${text.slice(0, keep)}…${text.slice(-keep)}`;
}

export function plural(count: number | bigint, one: string, many = `${one}s`): string {
  return `${formatInteger(count)} ${count === 1 || count === 1n ? one : many}`;
}
