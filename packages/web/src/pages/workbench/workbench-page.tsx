import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Notice } from '../../components/notice.tsx';
import { Segmented } from '../../components/segmented.tsx';
import { useTitle } from '../../components/use-title.ts';
import type { PageProps } from '../../page-props.ts';
import { CountButton, EstimateLine, isLarge, useEstimate } from './estimate-line.tsx';
import { JsonEditor } from './json-editor.tsx';
import { ProblemList } from './problem-list.tsx';
import { QueryForm } from './query-form.tsx';
import { formatQuery, parseText } from './query-model.ts';
import { QueryToolbar } from './query-toolbar.tsx';
import { ResultPanel } from './results/result-panel.tsx';
import { SyncCard } from './sync-card.tsx';
import { useQueryText } from './use-query-text.ts';
import { useRun } from './use-run.ts';
import { useSchema } from './use-schema.ts';
import './workbench.css';

type Side = 'form' | 'json';

export function WorkbenchPage({ parameters }: PageProps) {
  const [dataset = ''] = parameters;
  useTitle(`Workbench · ${dataset}`);
  const { text, setText } = useQueryText(dataset);
  const { check, values, activity } = useSchema(dataset);
  const [side, setSide] = useState<Side>('form');
  const parsed = parseText(text);
  const query = parsed.kind === 'query' ? parsed.query : undefined;
  const problems = query === undefined ? [] : check(query);
  const isValid = query !== undefined && problems.length === 0;
  const estimate = useEstimate(dataset, isValid ? query : undefined);
  const { run, version, start, stop } = useRun(dataset);
  const results = useRef<HTMLDivElement>(null);
  const [isAsking, setAsking] = useState(false);
  const begin = (isConfirmed: boolean) => {
    if (query === undefined || !isValid) return;
    if (isLarge(estimate) && !isConfirmed) return setAsking(true);
    setAsking(false);
    start(query);
  };
  // The results are below the query, often outside the window.
  useEffect(() => {
    if (run !== undefined) results.current?.scrollIntoView({ block: 'nearest' });
  }, [run]);
  // A changed query needs a new confirmation.
  useEffect(() => setAsking(false), [text]);
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>Workbench</h1>
          <p>
            Ask {dataset} for exactly the records you need. The address of this page holds the
            query.
          </p>
        </div>
        <QueryToolbar
          dataset={dataset}
          query={query}
          activity={activity}
          isRunning={run?.state.kind === 'running'}
          isValid={isValid}
          onQuery={(next) => setText(formatQuery(next))}
          onRun={() => begin(false)}
          onStop={stop}
        />
      </div>
      <div class="side-choice">
        <Segmented
          label="How to edit"
          value={side}
          options={[
            ['form', 'Form'],
            ['json', 'JSON'],
          ]}
          onChange={setSide}
        />
      </div>
      <div class={`workbench show-${side}`}>
        <section class="panel side-form" aria-label="Query as a form">
          {parsed.kind === 'query' ? (
            <QueryForm
              dataset={dataset}
              query={parsed.query}
              onChange={(next) => setText(formatQuery(next))}
            />
          ) : (
            <p class="callout bad">
              The text is not JSON: {parsed.message} The form is shown again when it is.
            </p>
          )}
        </section>
        <section class="panel side-json" aria-label="Query as JSON">
          <JsonEditor
            text={text}
            onChange={setText}
            onRun={() => begin(false)}
            check={check}
            values={values}
          />
          <ProblemList problems={problems} />
          <EstimateLine estimate={estimate} isValid={isValid} />
          <CountButton dataset={dataset} query={isValid ? query : undefined} />
        </section>
      </div>
      {isAsking && (
        <div class="callout warn row spread" role="alertdialog" aria-label="Large scan">
          <span>
            <strong>This is a large scan.</strong> The page keeps the first records only. A smaller
            range or more filters make it quicker.
          </span>
          <span class="row">
            <button type="button" class="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button type="button" class="button primary" onClick={() => begin(true)}>
              Run it anyway
            </button>
          </span>
        </div>
      )}
      {run?.state.kind === 'failed' && (
        <div class="panel">
          <ErrorNotice error={run.state.error} slim />
        </div>
      )}
      <div ref={results}>
        {run === undefined ? (
          <div class="panel">
            <Notice title="No results yet" slim>
              <p>Run the query to see its records here, as a table, a tree or JSON lines.</p>
              <p class="muted small">
                <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs it from the editor, <kbd>Ctrl</kbd>{' '}
                <kbd>Space</kbd> completes what is typed.
              </p>
            </Notice>
          </div>
        ) : (
          <ResultPanel dataset={dataset} run={run} version={version} />
        )}
      </div>
      {query !== undefined && isValid && <SyncCard dataset={dataset} query={query} />}
    </div>
  );
}
