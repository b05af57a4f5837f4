import type { PageProps } from '../../routes.ts';

export function DocsPage({ parameters }: PageProps) {
  return <p>{parameters.join()}</p>;
}
