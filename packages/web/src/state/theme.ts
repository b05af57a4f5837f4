import { computed, effect, signal } from '@preact/signals';

type ThemeChoice = 'system' | 'light' | 'dark';

const storageName = 'sluice-theme';
const systemIsDark = signal(matchMedia('(prefers-color-scheme: dark)').matches);
const choice = signal<ThemeChoice>(readChoice());

export const isDark = computed(() =>
  choice.value === 'system' ? systemIsDark.value : choice.value === 'dark',
);

/** The theme follows the system until the user chooses the opposite. Choosing the theme of the system follows it again. */
export function toggleTheme(): void {
  const wanted = isDark.value ? 'light' : 'dark';
  const isSystem = (wanted === 'dark') === systemIsDark.value;
  choice.value = isSystem ? 'system' : wanted;
  localStorage.setItem(storageName, choice.value);
}

export function startTheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', ({ matches }) => {
    systemIsDark.value = matches;
  });
  effect(() => {
    document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light';
  });
}

function readChoice(): ThemeChoice {
  const stored = localStorage.getItem(storageName);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
