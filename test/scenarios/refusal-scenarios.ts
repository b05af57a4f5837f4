/** Transactions that the runtime refuses: before programs start, between them, and after they succeeded. */
import { AccountRole, type Address, type Instruction } from '@solana/kit';
import { memo } from './memo-scenarios.ts';
import { type Call, call, other, refusedCall } from './planned-transaction.ts';
import { relay } from './relay-call.ts';
import { COMPUTE_BUDGET, MEMO, type Scenario } from './world.ts';

const ED25519 = 'Ed25519SigVerify111111111111111111111111111' as Address;
const NATIVE_LOADER = 'NativeLoader1111111111111111111111111111111' as Address;
const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111' as Address;
const ZK_TOKEN_PROOF = 'ZkTokenProof1111111111111111111111111111111' as Address;
/** The limit of all calls of a transaction, including the top-level ones. */
const CALL_COUNT_MAX = 64;

function bare(programAddress: Address, ...data: readonly number[]): Instruction {
  return { programAddress, accounts: [], data: Uint8Array.from(data) };
}

/** Claims to contain one signature, but contains none. */
const BROKEN_SIGNATURE: Call = { ...call(bare(ED25519, 1, 0)), stops: true };

export const REFUSAL_SCENARIOS: readonly Scenario[] = [
  async (world) => ({
    title: 'a precompile that fails between memos without a log line',
    payer: await world.wallet('broken signature payer'),
    calls: [memo('ran'), BROKEN_SIGNATURE, memo('never')],
    err: '{"InstructionError":[1,{"Custom":4}]}',
    fee: 10_000n, // a signature to verify costs as much as a signature of the transaction
  }),
  async (world) => ({
    title: 'a precompile that fails first: an instruction error without any line',
    payer: await world.wallet('first broken signature payer'),
    calls: [BROKEN_SIGNATURE, memo('never')],
    err: '{"InstructionError":[0,{"Custom":4}]}',
    fee: 10_000n,
  }),
  async (world) => ({
    title: 'a transaction without instructions',
    payer: await world.wallet('empty payer'),
    calls: [],
  }),
  async (world) => ({
    title: 'a loader that is called as a program and refused before it starts',
    payer: await world.wallet('native loader payer'),
    calls: [memo('ran'), { ...refusedCall(bare(NATIVE_LOADER, 1)), stops: true }, memo('never')],
    err: '{"InstructionError":[1,"UnsupportedProgramId"]}',
  }),
  async (world) => ({
    title: 'a successful run that the runtime rejects afterwards',
    payer: await world.wallet('free lunch payer'),
    calls: [memo('ran'), { ...call(bare(ZK_TOKEN_PROOF, 3)), stops: true }, memo('never')],
    err: '{"InstructionError":[1,"BuiltinProgramsMustConsumeComputeUnits"]}',
  }),
  async (world) => {
    const budget = call(bare(COMPUTE_BUDGET, 1));
    const relayed = relay(world.relays[0], Array<Call>(CALL_COUNT_MAX).fill(budget));
    return {
      title: 'one call more than a transaction may make',
      payer: await world.wallet('many calls payer'),
      calls: [
        {
          ...relayed,
          steps: relayed.steps.slice(0, CALL_COUNT_MAX - 1),
          error: 'Max instruction trace length exceeded',
        },
      ],
      err: '{"InstructionError":[0,"MaxInstructionTraceLengthExceeded"]}',
    };
  },
  async (world) => {
    const relayed = relay(world.relays[0], ['before', call(bare(UPGRADEABLE_LOADER, 0, 0, 0, 0))]);
    const error = `Program ${UPGRADEABLE_LOADER} not supported by inner instructions`;
    return {
      title: 'a failure whose text begins like a line of another program',
      payer: await world.wallet('loader call payer'),
      calls: [{ ...relayed, steps: relayed.steps.slice(0, 1), error }],
      err: '{"InstructionError":[0,"ProgramFailedToComplete"]}',
    };
  },
  async (world) => {
    const { address } = await world.signer('an account nobody named');
    const named: Instruction = {
      ...bare(MEMO, 0x61),
      accounts: [{ address, role: AccountRole.READONLY }],
    };
    const relayed = relay(world.relays[0], ['before', call(named)]);
    const accounts = [{ address: MEMO, role: AccountRole.READONLY }];
    return {
      title: 'a call with an account that its caller was not given',
      payer: await world.wallet('unknown account payer'),
      calls: [
        {
          ...relayed,
          instruction: { ...relayed.instruction, accounts },
          steps: [
            ...relayed.steps.slice(0, 1),
            other(`Instruction references an unknown account ${address}`),
          ],
          error: 'An account required by the instruction is missing',
        },
      ],
      err: '{"InstructionError":[0,"MissingAccount"]}',
    };
  },
];
