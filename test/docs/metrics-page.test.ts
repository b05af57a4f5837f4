/** Compares the metrics page, the dashboard and the alert rules with the metrics of a running service. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALARM_CODES } from '../../packages/server/src/dataset/alarm-codes.ts';
import { ServiceProcess } from '../service/service-process.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Family {
  readonly type: string;
  readonly help: string;
  /** The labels of all samples, or `undefined` without samples. */
  labels: string | undefined;
}

/** Returns the label names in order, as the page writes them. */
function labelNames(pairs: string): string {
  const names = [...pairs.matchAll(/(\w+)="/g)].map(([, name]) => `\`${name}\``);
  return names.length === 0 ? '–' : names.join(', ');
}

/** Returns the histogram that a series belongs to. */
function familyOf(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}

function parseMetrics(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let help = '';
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const about = /^# (HELP|TYPE) (\w+) (.*)$/.exec(line);
    if (about?.[1] === 'HELP') help = about[3] as string;
    else if (about !== null) {
      families.set(about[2] as string, { type: about[3] as string, help, labels: undefined });
    } else {
      const [, name = '', pairs = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
      const family = families.get(name) ?? families.get(familyOf(name));
      expect(family, line).toBeDefined();
      if (family !== undefined) family.labels = labelNames(pairs.replace(/\ble="[^"]*",?/, ''));
    }
  }
  return families;
}

interface Row {
  readonly type: string;
  readonly labels: string;
  readonly meaning: string;
}

const rows = new Map<string, Row>(
  [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)].map(
    ([, name = '', type = '', labels = '', meaning = '']) => [name, { type, labels, meaning }],
  ),
);

const folder = mkdtempSync(join(tmpdir(), 'sluice-metrics-'));
let service: ServiceProcess;
let families: Map<string, Family>;
let atStart: string;
beforeAll(async () => {
  service = await ServiceProcess.startDemo(folder);
  atStart = await (await fetch(`${service.adminUrl}/metrics`)).text();
  const body = { fromBlock: 0, toBlock: 20, includeAllBlocks: true };
  for (;;) {
    const response = await service.query('/datasets/ledger-beta/stream', body);
    await response.text();
    if (response.status === 200) break;
  }
  families = parseMetrics(await (await fetch(`${service.adminUrl}/metrics`)).text());
});
afterAll(async () => {
  await service.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test('behavior: I-97 the page has exactly the existing metrics, with type and meaning', () => {
  expect(families.size).toBeGreaterThan(15);
  expect([...rows.keys()].sort()).toEqual([...families.keys()].sort());
  for (const [name, { type, help }] of families) {
    const row = rows.get(name);
    expect([name, row?.type]).toEqual([name, type]);
    expect(row?.meaning.startsWith(help), `${name}: ${help}`).toBe(true);
  }
});

test('behavior: the page has the labels of the samples', () => {
  for (const [name, { labels }] of families) {
    // A healthy service has no alarms.
    if (name === 'sluice_dataset_alarms') continue;
    expect([name, labels]).toEqual([name, rows.get(name)?.labels]);
  }
});

/** Returns the names in an expression that look like our metrics. */
function metricsIn(expression: string): string[] {
  return (expression.match(/\b(?:sluice|process)_\w+/g) ?? []).map(familyOf);
}

test('behavior: the dashboard uses existing metrics and labels', () => {
  const board = JSON.parse(read('ops/grafana/sluice.json')) as {
    panels: { title: string; targets: { expr: string }[] }[];
    templating: { list: { query: string }[] };
  };
  const expressions = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const allExpressions = [...expressions, ...board.templating.list.map(({ query }) => query)];
  expect(expressions.length).toBeGreaterThan(10);
  for (const name of allExpressions.flatMap(metricsIn)) expect([...rows.keys()]).toContain(name);
  for (const expression of expressions) expectLabels(expression);
});

/** Checks that each `metric{label=…}` uses labels of that metric. Prometheus adds `job` and `instance`. */
function expectLabels(expression: string): void {
  for (const [, name = '', matchers = ''] of expression.matchAll(/(\w+)\{([^}]*)\}/g)) {
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*[!=]~?/g)) {
      if (label === 'job' || label === 'instance') continue;
      expect(rows.get(familyOf(name))?.labels, `${name}{${label}}`).toContain(`\`${label}\``);
    }
  }
}

test('behavior: the alert rules use existing metrics, labels and alarms', () => {
  const rules = read('ops/prometheus/sluice.rules.yml');
  const expressions = [...rules.matchAll(/^ +expr: (.*)$/gm)].map(([, expr = '']) => expr);
  expect(expressions.length).toBeGreaterThan(5);
  for (const expression of expressions) {
    for (const name of metricsIn(expression)) expect([...rows.keys()]).toContain(name);
    expectLabels(expression);
  }
  const codes = [...rules.matchAll(/code[!=]~"([^"]*)"/g)].flatMap(
    ([, list]) => list?.split('|') ?? [],
  );
  expect(codes.length).toBeGreaterThan(0);
  for (const code of codes) expect(ALARM_CODES).toContain(code);
});

/** Returns the metric, label and values of each matcher in a rate or increase. */
function risesIn(rules: string): { metric: string; label: string; values: string[] }[] {
  const rise = /(?:rate|increase)\((\w+)\{(\w+)=~?"([^"]*)"\}/g;
  return [...rules.matchAll(rise)].map(([, metric = '', label = '', values = '']) => ({
    metric,
    label,
    values: values.split('|'),
  }));
}

test('behavior: I-97 every counter that an alert watches exists from the start with the value 0', () => {
  const rises = risesIn(read('ops/prometheus/sluice.rules.yml'));
  expect(rises.length).toBeGreaterThan(2);
  for (const { metric, label, values } of rises) {
    for (const value of values) expect(atStart).toContain(`\n${metric}{${label}="${value}"} 0\n`);
  }
});

test('behavior: no alert rule does arithmetic with a metric that may be absent, because the result would be absent too', () => {
  const expressions = [...read('ops/prometheus/sluice.rules.yml').matchAll(/^ +expr: (.*)$/gm)];
  for (const [, expression] of expressions) expect(expression).not.toMatch(/\) [+*/-] /);
});
