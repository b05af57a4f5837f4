export interface ListedPage {
  readonly name: string;
  readonly path: string;
  /** Appears when the page has its data. */
  readonly ready: string;
  /** Messages on the console that belong to the page, such as a 404 that it explains. */
  readonly expected?: RegExp;
}
