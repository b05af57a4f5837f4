import type { FunctionComponent } from 'preact';

/** The parameters of the page's address, in the order of the placeholders. */
export interface PageProps {
  readonly parameters: readonly string[];
}

export interface Page {
  readonly name: string;
  readonly load: () => Promise<FunctionComponent<PageProps>>;
}
