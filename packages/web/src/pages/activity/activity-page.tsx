import type { PageProps } from '../../routes.ts';

export function ActivityPage({ parameters }: PageProps) {
  return <p>{parameters.join()}</p>;
}
