/** The page about metrics, the dashboard and the alert rules against what a running service prints. */
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
  /** Of all samples; `undefined` where there is none. */
  labels: string | undefined;
}

/** Label names in their order, as the page writes them. */
function labelNames(pairs: string): string {
  const names = [...pairs.matchAll(/(\w+)="/g)].map(([, name]) => `\`${name}\``);
  return names.length === 0 ? '–' : names.join(', ');
}

function parseMetrics(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let help = '';
  for (const line of text.split('\n').slice(0, -1)) {
    const about = /^# (HELP|TYPE) (\w+) (.*)$/.exec(line);
    if (about?.[1] === 'HELP') help = about[3] as string;
    else if (about !== null) {
      families.set(about[2] as string, { type: about[3] as string, help, labels: undefined });
    } else {
      const [, name = '', pairs = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
      const family = families.get(name);
      expect(family, line).toBeDefined();
      if (family !== undefined) family.labels = labelNames(pairs);
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

test('behavior: I-97 the page has every metric, its type and its meaning, and none beyond', () => {
  expect(families.size).toBeGreaterThan(15);
  expect([...rows.keys()].sort()).toEqual([...families.keys()].sort());
  for (const [name, { type, help }] of families) {
    const row = rows.get(name);
    expect([name, row?.type]).toEqual([name, type]);
    expect(row?.meaning.startsWith(help), `${name}: ${help}`).toBe(true);
  }
});

test('behavior: the labels on the page are those of the samples', () => {
  for (const [name, { labels }] of families) {
    // An alarm is no part of a healthy service.
    if (name === 'sluice_dataset_alarms') continue;
    expect([name, labels]).toEqual([name, rows.get(name)?.labels]);
  }
});

/** Words of an expression that look like a metric of ours. */
function metricsIn(expression: string): string[] {
  return expression.match(/\b(?:sluice|process)_\w+/g) ?? [];
}

test('behavior: the dashboard asks for metrics that exist, by labels that they have', () => {
  const board = JSON.parse(read('ops/grafana/sluice.json')) as {
    panels: { title: string; targets: { expr: string }[] }[];
    templating: { list: { query: string }[] };
  };
  const expressions = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const asked = [...expressions, ...board.templating.list.map(({ query }) => query)];
  expect(expressions.length).toBeGreaterThan(10);
  for (const name of asked.flatMap(metricsIn)) expect([...rows.keys()]).toContain(name);
  for (const expression of expressions) expectLabels(expression);
});

/** Each `metric{label=…}` names labels of that metric; `job` and `instance` are what Prometheus adds. */
function expectLabels(expression: string): void {
  for (const [, name = '', matchers = ''] of expression.matchAll(/(\w+)\{([^}]*)\}/g)) {
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*[!=]~?/g)) {
      if (label === 'job' || label === 'instance') continue;
      expect(rows.get(name)?.labels, `${name}{${label}}`).toContain(`\`${label}\``);
    }
  }
}

test('behavior: the alert rules name metrics, labels and alarms that exist', () => {
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

/** What each matcher of a rise in a counter stands for, with the label it names. */
function risesIn(rules: string): { metric: string; label: string; values: string[] }[] {
  const rise = /(?:rate|increase)\((\w+)\{(\w+)=~?"([^"]*)"\}/g;
  return [...rules.matchAll(rise)].map(([, metric = '', label = '', values = '']) => ({
    metric,
    label,
    values: values.split('|'),
  }));
}

test('behavior: I-97 every counter whose rise is an alert is there from the start, at 0', () => {
  const rises = risesIn(read('ops/prometheus/sluice.rules.yml'));
  expect(rises.length).toBeGreaterThan(2);
  for (const { metric, label, values } of rises) {
    for (const value of values) expect(atStart).toContain(`\n${metric}{${label}="${value}"} 0\n`);
  }
});

test('behavior: no alert rule adds what may be absent to something: that is absent too', () => {
  const expressions = [...read('ops/prometheus/sluice.rules.yml').matchAll(/^ +expr: (.*)$/gm)];
  for (const [, expression] of expressions) expect(expression).not.toMatch(/\) [+*/-] /);
});
