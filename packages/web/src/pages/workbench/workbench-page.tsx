import type { PageProps } from '../../routes.ts';

export function WorkbenchPage({ parameters }: PageProps) {
  return <p>{parameters.join()}</p>;
}
