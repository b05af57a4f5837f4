import { apiKey, connection, forgetKey } from '../state/connection.ts';
import { chooseDataset, currentDataset, datasets } from '../state/datasets.ts';
import { pagePath } from '../state/page-path.ts';
import { navigate, route } from '../state/router.ts';
import { isDark, toggleTheme } from '../state/theme.ts';
import { KeyIcon, LogoIcon, MoonIcon, SunIcon } from './icons.tsx';
import { SearchBox } from './search-box.tsx';

export function TopBar() {
  return (
    <header class="topbar">
      <div class="topbar-inner">
        <a class="brand" href="/" aria-label="Sluice, overview">
          <LogoIcon />
          Sluice
        </a>
        <Navigation />
        <SearchBox />
        <div class="tools">
          <DatasetChoice />
          <ConnectionBadge />
          {apiKey.value !== null && (
            <button
              type="button"
              class="button quiet icon"
              aria-label="Forget the key"
              title="Forget the key"
              onClick={forgetKey}
            >
              <KeyIcon />
            </button>
          )}
          <button
            type="button"
            class="button quiet icon"
            aria-label={isDark.value ? 'Use light colours' : 'Use dark colours'}
            title={isDark.value ? 'Use light colours' : 'Use dark colours'}
            onClick={toggleTheme}
          >
            {isDark.value ? <SunIcon /> : <MoonIcon />}
          </button>
        </div>
      </div>
    </header>
  );
}

const entries = [
  ['Overview', 'overview'],
  ['Live', 'live'],
  ['Activity', 'activity'],
  ['Workbench', 'workbench'],
  ['Docs', 'docs'],
] as const;

function Navigation() {
  const dataset = currentDataset.value ?? '';
  const [, page = ''] = route.value.path.split('/');
  return (
    <nav class="nav" aria-label="Pages">
      {entries.map(([title, name]) => {
        const needsDataset = name !== 'overview' && name !== 'docs';
        const href = needsDataset
          ? dataset === ''
            ? '/'
            : pagePath[name](dataset)
          : pagePath[name]();
        const isCurrent = name === (page === '' ? 'overview' : page);
        return (
          <a key={name} href={href} aria-current={isCurrent ? 'page' : undefined}>
            {title}
          </a>
        );
      })}
    </nav>
  );
}

/** Changes the dataset. On a page about a whole dataset, also opens that page for the new dataset. */
function DatasetChoice() {
  const names = datasets.value?.map(({ dataset }) => dataset) ?? [];
  const current = currentDataset.value;
  if (names.length < 2 || current === undefined) return null;
  const change = (name: string) => {
    chooseDataset(name);
    const [, page = '', , rest] = route.value.path.split('/');
    if (page === 'live' || page === 'activity' || page === 'workbench')
      navigate(`/${page}/${name}`);
    else if (rest !== undefined && page !== 'docs') navigate(`/${page}/${name}/${rest}`);
  };
  return (
    <select
      class="select dataset-choice"
      aria-label="Dataset"
      value={current}
      onChange={(event) => change(event.currentTarget.value)}
    >
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

const connectionTexts = {
  connecting: ['', 'Connecting'],
  online: ['ok', 'Connected'],
  lost: ['bad', 'Offline'],
  unavailable: ['warn', 'Waiting'],
} as const;

function ConnectionBadge() {
  const [tone, text] = connectionTexts[connection.value.kind];
  return (
    <span class={`badge connection ${tone}`} title={text}>
      <span class="dot" />
      <span class="connection-text">{text}</span>
    </span>
  );
}
