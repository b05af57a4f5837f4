export interface ListedPage {
  readonly name: string;
  readonly path: string;
  /** A selector that matches when the page has its data. */
  readonly ready: string;
  /** Messages on the console that are expected, such as a 404 that the page explains. */
  readonly expected?: RegExp;
}
