import type { Activity } from '@sluice/client';
import { copyText } from '../../components/copy-button.tsx';
import { Menu } from '../../components/menu.tsx';
import { apiKey } from '../../state/connection.ts';
import { statusOf } from '../../state/datasets.ts';
import type { JsonObject } from './query-model.ts';
import { buildRecipes } from './recipes.ts';
import { type ProgramTarget, writeCurl, writePython, writeTypeScript } from './write-programs.ts';

interface QueryToolbarProps {
  readonly dataset: string;
  readonly query: JsonObject | undefined;
  readonly activity: Activity | undefined;
  readonly isRunning: boolean;
  readonly isValid: boolean;
  readonly onQuery: (query: JsonObject) => void;
  readonly onRun: () => void;
  readonly onStop: () => void;
}

export function QueryToolbar(props: QueryToolbarProps) {
  const { dataset, query, isRunning, isValid, onRun, onStop } = props;
  const copy = (write: (query: JsonObject, target: ProgramTarget) => string) => () => {
    const url = `${location.origin}/datasets/${dataset}`;
    if (query !== undefined) void copyText(write(query, { url, hasKey: apiKey.value !== null }));
  };
  return (
    <div class="row">
      <RecipeChoice {...props} />
      <Menu
        title="Copy as"
        isDisabled={query === undefined}
        entries={[
          ['curl', copy(writeCurl)],
          ['TypeScript', copy(writeTypeScript)],
          ['Python', copy(writePython)],
          ['Link', () => void copyText(location.href)],
        ]}
      />
      {isRunning ? (
        <button type="button" class="button primary run-button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button
          type="button"
          class="button primary run-button"
          title="Ctrl+Enter in the editor"
          disabled={!isValid}
          onClick={onRun}
        >
          Run
        </button>
      )}
    </div>
  );
}

function RecipeChoice({ dataset, activity, onQuery }: QueryToolbarProps) {
  const status = statusOf(dataset);
  const start = status?.start_block ?? 0;
  const recipes = buildRecipes({ start, head: status?.head?.number ?? start }, activity);
  return (
    <select
      class="select recipe-choice"
      aria-label="Recipes"
      value=""
      onChange={(event) => {
        const recipe = recipes[Number(event.currentTarget.value)];
        if (recipe !== undefined) onQuery(recipe.query as JsonObject);
      }}
    >
      <option value="" disabled>
        Recipes…
      </option>
      {recipes.map(({ title }, i) => (
        <option key={title} value={i}>
          {title}
        </option>
      ))}
    </select>
  );
}
