import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from './query-model.ts';
import { QueryRun } from './run-query.ts';

interface RunControls {
  readonly run: QueryRun | undefined;
  /** Incremented when the results changed, at most once per frame. */
  readonly version: number;
  readonly start: (query: JsonObject) => void;
  readonly stop: () => void;
}

export function useRun(dataset: string): RunControls {
  const [run, setRun] = useState<QueryRun | undefined>(undefined);
  const [version, setVersion] = useState(0);
  const frame = useRef(0);
  const current = useRef<QueryRun | undefined>(undefined);
  const refresh = () => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      setVersion((count) => count + 1);
    });
  };
  const start = (query: JsonObject) => {
    current.current?.stop();
    const next = new QueryRun();
    current.current = next;
    setRun(next);
    setVersion(0);
    // Errors are part of the state of the run.
    next.run(dataset, query, refresh).catch(() => undefined);
  };
  const stop = () => {
    current.current?.stop();
    setVersion((count) => count + 1);
  };
  useEffect(
    () => () => {
      current.current?.stop();
      cancelAnimationFrame(frame.current);
    },
    [],
  );
  // Results of another dataset are removed.
  useEffect(() => {
    current.current?.stop();
    current.current = undefined;
    setRun(undefined);
  }, [dataset]);
  return { run, version, start, stop };
}
