/** The router of the application. A click on an ordinary link changes the page without a reload. */
import { signal } from '@preact/signals';

export interface Route {
  readonly path: string;
  readonly search: string;
  readonly hash: string;
}

export const route = signal<Route>(readRoute());

function readRoute(): Route {
  const { pathname, search, hash } = location;
  return { path: pathname, search, hash };
}

/** Paths that the service itself handles. */
const servicePath = /^\/(openapi\.json|datasets|assets)(\/|$)/;

export function navigate(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  moveTo(readRoute());
}

/** Changes the address without a new history entry and without a new page. */
export function replaceAddress(href: string): void {
  history.replaceState(history.state, '', href);
}

function moveTo(next: Route): void {
  const isNewPage = next.path !== route.value.path;
  route.value = next;
  if (isNewPage && next.hash === '') scrollTo(0, 0);
}

export function startRouter(): void {
  addEventListener('popstate', () => moveTo(readRoute()));
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || !isInternal(event, link)) return;
    event.preventDefault();
    navigate(`${link.pathname}${link.search}${link.hash}`);
  });
}

function isInternal(event: MouseEvent, link: HTMLAnchorElement): boolean {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
  if (!isPlain || event.defaultPrevented || link.target !== '' || link.hasAttribute('download')) {
    return false;
  }
  // The browser itself scrolls to an anchor on the same page and moves the focus.
  const isSamePage = link.pathname === location.pathname && link.search === location.search;
  if (isSamePage && link.hash !== '') return false;
  return link.origin === location.origin && !servicePath.test(link.pathname);
}
