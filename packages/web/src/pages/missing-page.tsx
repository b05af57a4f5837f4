import { Notice } from '../components/notice.tsx';
import { useTitle } from '../components/use-title.ts';

export function MissingPage() {
  useTitle('Not found');
  return (
    <div class="panel">
      <Notice title="There is no such page">
        <p>
          The address is not one of this application. The search above takes slots, signatures,
          addresses and times.
        </p>
        <a class="button" href="/">
          To the overview
        </a>
      </Notice>
    </div>
  );
}
