import { useTitle } from '../components/use-title.ts';
import { currentDataset } from '../state/datasets.ts';
import { pagePath } from '../state/page-path.ts';
import { route } from '../state/router.ts';

export function MissingPage() {
  useTitle('Not found');
  const dataset = currentDataset.value;
  return (
    <div class="panel">
      <div class="notice missing">
        <p class="missing-code" aria-hidden="true">
          404
        </p>
        <h1>There is no page at this address</h1>
        <p class="hash">{route.value.path}</p>
        <p>
          The link may be mistyped or old. The search above finds slots, signatures, addresses and
          times.
        </p>
        <div class="row">
          <a class="button primary" href="/">
            Overview
          </a>
          {dataset !== undefined && (
            <a class="button" href={pagePath.workbench(dataset)}>
              Workbench
            </a>
          )}
          <a class="button" href="/docs">
            Documentation
          </a>
        </div>
      </div>
    </div>
  );
}
