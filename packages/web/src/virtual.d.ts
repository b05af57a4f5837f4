/** Modules that the build generates, see `packages/web/build`. */
declare module 'virtual:docs' {
  export interface DocPage {
    readonly slug: string;
    readonly title: string;
    readonly sections: readonly { readonly anchor: string; readonly title: string }[];
    readonly load: () => Promise<{ readonly html: string }>;
  }
  export const groups: readonly { readonly title: string; readonly pages: readonly DocPage[] }[];
}

declare module 'virtual:docs-search' {
  /** Slug and title of the page, anchor, title and text of the section. */
  export const sections: readonly (readonly [string, string, string, string, string])[];
}

declare module 'virtual:alarm-actions' {
  export const alarmActions: Readonly<Record<string, string>>;
}

declare module 'virtual:idl' {
  export interface Idl {
    readonly address: string;
    readonly name: string;
    readonly instructions: readonly {
      readonly name: string;
      readonly d8: string;
      readonly accounts: readonly string[];
    }[];
    readonly errors: Readonly<Record<string, string>>;
  }
  export const idls: readonly Idl[];
}

declare module '*.css';
