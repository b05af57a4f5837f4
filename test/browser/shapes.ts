/** The screens that every page must fit, in both themes. */
export const shapes = [
  { name: '1280', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: '1280-dark', viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  { name: '390', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  { name: '390-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  { name: '4k', viewport: { width: 3840, height: 2160 }, colorScheme: 'light' },
] as const;
