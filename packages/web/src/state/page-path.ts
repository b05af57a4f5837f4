/** The addresses of pages about one dataset. */
export const pagePath = {
  overview: () => '/',
  live: (dataset: string) => `/live/${dataset}`,
  activity: (dataset: string) => `/activity/${dataset}`,
  workbench: (dataset: string) => `/workbench/${dataset}`,
  block: (dataset: string, slot: number | string) => `/block/${dataset}/${slot}`,
  transaction: (dataset: string, signature: string) => `/transaction/${dataset}/${signature}`,
  account: (dataset: string, address: string) => `/account/${dataset}/${address}`,
  program: (dataset: string, address: string) => `/program/${dataset}/${address}`,
  docs: (slug?: string) => (slug === undefined ? '/docs' : `/docs/${slug}`),
};
