import type { PageProps } from '../../routes.ts';

export function ProgramPage({ parameters }: PageProps) {
  return <p>{parameters.join()}</p>;
}
