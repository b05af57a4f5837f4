/** The position of an instruction in a block. */
export interface CallPosition {
  readonly transactionIndex: number;
  readonly instructionAddress: readonly number[];
}

/** The addresses of pages about one dataset. */
export const pagePath = {
  overview: () => '/',
  live: (dataset: string) => `/live/${dataset}`,
  activity: (dataset: string) => `/activity/${dataset}`,
  workbench: (dataset: string) => `/workbench/${dataset}`,
  block: (dataset: string, slot: number | string) => `/block/${dataset}/${slot}`,
  /** The page of a transaction that is known by its position in a block, with one of its calls open. */
  call: (dataset: string, slot: number, { transactionIndex, instructionAddress }: CallPosition) =>
    `/block/${dataset}/${slot}?transaction=${transactionIndex}&call=${instructionAddress.join('.')}`,
  transaction: (dataset: string, signature: string) => `/transaction/${dataset}/${signature}`,
  account: (dataset: string, address: string) => `/account/${dataset}/${address}`,
  program: (dataset: string, address: string) => `/program/${dataset}/${address}`,
  docs: (slug?: string) => (slug === undefined ? '/docs' : `/docs/${slug}`),
};
