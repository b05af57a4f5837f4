/** A token account before or after a transaction; all fields are null if it did not exist. */
export interface TokenSide<Key extends string> {
  readonly mint: Key | null;
  readonly decimals: number | null;
  readonly programId: Key | null;
  readonly owner: Key | null;
  readonly amount: bigint | null;
}

export const NO_SIDE = { mint: null, decimals: null, programId: null, owner: null, amount: null };

/** Returns the fields of a token balance from its two sides. */
export function joinSides<Key extends string>(pre: TokenSide<Key>, post: TokenSide<Key>) {
  return {
    preMint: pre.mint,
    postMint: post.mint,
    preDecimals: pre.decimals,
    postDecimals: post.decimals,
    preProgramId: pre.programId,
    postProgramId: post.programId,
    preOwner: pre.owner,
    postOwner: post.owner,
    preAmount: pre.amount,
    postAmount: post.amount,
  };
}
