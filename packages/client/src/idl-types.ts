/** The types of decoded arguments, derived from an IDL of Anchor that is given as a constant (`as const`). */
import type { DecodedValue } from '@sluice/protocol/block-line';

interface Named {
  readonly name: string;
}

interface TypedField extends Named {
  readonly type: unknown;
}

/** The parts of an IDL that the types are derived from, in the form before and since 0.30. */
export interface AnchorIdl {
  readonly name?: string;
  readonly metadata?: { readonly name?: string };
  readonly instructions: readonly (Named & { readonly args: readonly TypedField[] })[];
  readonly events?: readonly (Named & { readonly fields?: readonly TypedField[] })[];
  readonly types?: readonly TypedField[];
}

type SmallInteger = 'u8' | 'u16' | 'u32' | 'i8' | 'i16' | 'i32';
type LargeInteger = 'u64' | 'u128' | 'u256' | 'i64' | 'i128' | 'i256';
type Text = 'string' | 'bytes' | 'pubkey' | 'publicKey';

type ListOf<Item, Idl extends AnchorIdl> = Item extends 'u8'
  ? string
  : readonly ValueOf<Item, Idl>[];

/** The value that a type of the IDL has after decoding. */
type ValueOf<Type, Idl extends AnchorIdl> = Type extends SmallInteger
  ? number
  : Type extends LargeInteger | 'f32' | 'f64'
    ? number | string
    : Type extends 'bool'
      ? boolean
      : Type extends Text
        ? string
        : Type extends { readonly option: infer Item } | { readonly coption: infer Item }
          ? ValueOf<Item, Idl> | null
          : Type extends { readonly vec: infer Item }
            ? ListOf<Item, Idl>
            : Type extends { readonly array: readonly [infer Item, unknown] }
              ? ListOf<Item, Idl>
              : Type extends { readonly defined: { readonly name: infer Name } }
                ? DefinedValue<Name, Idl>
                : Type extends { readonly defined: infer Name }
                  ? DefinedValue<Name, Idl>
                  : unknown;

type DefinitionOf<Name, Idl extends AnchorIdl> = Idl extends {
  readonly types: readonly (infer Row)[];
}
  ? Extract<Row, { readonly name: Name }> extends { readonly type: infer Type }
    ? Type
    : unknown
  : unknown;

type DefinedValue<Name, Idl extends AnchorIdl> = BodyValue<DefinitionOf<Name, Idl>, Idl>;

type BodyValue<Body, Idl extends AnchorIdl> = Body extends {
  readonly kind: 'struct';
  readonly fields: infer Fields;
}
  ? FieldValues<Fields, Idl>
  : Body extends { readonly kind: 'enum'; readonly variants: readonly (infer Variant)[] }
    ? VariantValue<Variant, Idl>
    : unknown;

type VariantValue<Variant, Idl extends AnchorIdl> = Variant extends {
  readonly name: infer Name extends string;
}
  ? Variant extends { readonly fields: infer Fields }
    ? { readonly [Key in Name]: FieldValues<Fields, Idl> }
    : Name
  : never;

/** The values of named fields, or of the items of a tuple. */
type FieldValues<Fields, Idl extends AnchorIdl> = Fields extends readonly TypedField[]
  ? { readonly [Field in Fields[number] as Field['name']]: ValueOf<Field['type'], Idl> }
  : Fields extends readonly unknown[]
    ? { readonly [Key in keyof Fields]: ValueOf<Fields[Key], Idl> }
    : unknown;

type InstructionName<Idl extends AnchorIdl> = Idl['instructions'][number]['name'];
type EventName<Idl extends AnchorIdl> = Idl extends {
  readonly events: readonly (infer Row extends Named)[];
}
  ? Row['name']
  : never;

/** The arguments of an instruction. */
export type InstructionArgs<Idl extends AnchorIdl, Name extends InstructionName<Idl>> = FieldValues<
  Extract<Idl['instructions'][number], { readonly name: Name }>['args'],
  Idl
>;

/** The values of an event. */
export type EventArgs<Idl extends AnchorIdl, Name extends EventName<Idl>> = Idl extends {
  readonly events: readonly (infer Row)[];
}
  ? Extract<Row, { readonly name: Name }> extends { readonly fields: infer Fields }
    ? FieldValues<Fields, Idl>
    : DefinedValue<Name, Idl>
  : never;

/** Returns whether a decoded record is an instruction of the IDL's program, and gives its arguments their types. */
export function isInstruction<const Idl extends AnchorIdl, Name extends InstructionName<Idl>>(
  decoded: DecodedValue | null,
  idl: Idl,
  name: Name,
): decoded is DecodedValue & { readonly name: Name; readonly args: InstructionArgs<Idl, Name> } {
  return isOf(decoded, idl, name) && decoded?.isEvent !== true;
}

/** Returns whether a decoded record is an event of the IDL's program, and gives its values their types. */
export function isEvent<const Idl extends AnchorIdl, Name extends EventName<Idl>>(
  decoded: DecodedValue | null,
  idl: Idl,
  name: Name,
): decoded is DecodedValue & { readonly name: Name; readonly args: EventArgs<Idl, Name> } {
  return isOf(decoded, idl, name);
}

function isOf(decoded: DecodedValue | null, idl: AnchorIdl, name: string): boolean {
  const program = idl.name ?? idl.metadata?.name;
  return decoded?.args !== undefined && decoded.program === program && decoded.name === name;
}
