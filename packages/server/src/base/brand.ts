declare const brand: unique symbol;

/** A primitive with a meaning the compiler can tell apart; one function per brand mints it. */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
