import type { Path, Problem } from './check-query.ts';

const shownCount = 3;

/** The problems of a query as text, for users who do not see the underlining. */
export function ProblemList({ problems }: { readonly problems: readonly Problem[] }) {
  return (
    <div role="status">
      {problems.length > 0 && (
        <ul class="plain problems">
          {problems.slice(0, shownCount).map(({ path, message }) => (
            <li key={`${formatPath(path)} ${message}`} class="bad small">
              <code>{formatPath(path)}</code> {message}
            </li>
          ))}
          {problems.length > shownCount && (
            <li class="muted small">and {problems.length - shownCount} more</li>
          )}
        </ul>
      )}
    </div>
  );
}

/** Returns the path as the service writes it: `instructions[2].d8[0]`. */
export function formatPath(path: Path): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`))
    .join('');
}
