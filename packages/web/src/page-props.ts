import type { FunctionComponent } from 'preact';

/** What the address says, in the order of the placeholders. */
export interface PageProps {
  readonly parameters: readonly string[];
}

export interface Page {
  readonly name: string;
  readonly load: () => Promise<FunctionComponent<PageProps>>;
}
