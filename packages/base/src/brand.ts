declare const brand: unique symbol;

/**
 * A primitive type that the compiler distinguishes from others with the same representation. Only one parse function
 * per brand creates values of it.
 */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
