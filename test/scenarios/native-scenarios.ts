/** System transfers and accounts, compute budget, precompiles, votes, and failures that need no other program. */
import { AccountRole, type Address, type Instruction, type TransactionSigner } from '@solana/kit';
import {
  getSetComputeUnitLimitInstruction,
  getSetComputeUnitPriceInstruction,
} from '@solana-program/compute-budget';
import {
  getAllocateInstruction,
  getAssignInstruction,
  getCreateAccountInstruction,
  getTransferSolInstruction,
} from '@solana-program/system';
import { type Call, call, other } from './planned-transaction.ts';
import { COIN, type Scenario, SYSTEM, TOKEN } from './world.ts';

const ED25519 = 'Ed25519SigVerify111111111111111111111111111' as Address;
const VOTE = 'Vote111111111111111111111111111111111111111' as Address;
const OUT_OF_FUNDS = { error: 'custom program error: 0x1' };

function transfer(source: TransactionSigner, destination: Address, amount: bigint): Call {
  return call(getTransferSolInstruction({ source, destination, amount }));
}

function verifyNoSignature(): Instruction {
  return { programAddress: ED25519, accounts: [], data: Uint8Array.of(0, 0) };
}

function brokenVote(voter: TransactionSigner): Call {
  const accounts = [{ address: voter.address, role: AccountRole.WRITABLE_SIGNER, signer: voter }];
  const data = Uint8Array.of(0xff, 0xff, 0xff, 0xff);
  return call({ programAddress: VOTE, accounts, data }, [], { error: 'Invalid account owner' });
}

export const NATIVE_SCENARIOS: readonly Scenario[] = [
  async (world) => {
    const payer = await world.wallet('legacy payer');
    const to = await world.wallet('legacy receiver');
    const calls = [transfer(payer, to.address, 5_000_000n)];
    return { title: 'a legacy transfer', version: 'legacy', payer, calls };
  },
  async (world) => {
    const payer = await world.wallet('v1 payer');
    const to = await world.wallet('v1 receiver');
    return {
      title: 'a transfer of version 1 with a priority fee',
      version: 1,
      payer,
      config: {
        computeUnitLimit: 300_000,
        loadedAccountsDataSizeLimit: 1_000_000,
        priorityFeeLamports: 77n,
      },
      calls: [transfer(payer, to.address, 1n), transfer(payer, to.address, 2n)],
      fee: 5_077n,
    };
  },
  async (world) => {
    const payer = await world.wallet('whale payer');
    const whale = await world.wallet('whale', 2n ** 64n - 1n);
    const to = await world.wallet('whale receiver', 2n ** 53n + 1n);
    const calls = [transfer(whale, to.address, 2n ** 54n + 1n)];
    return { title: 'lamports beyond 2^53, two signers', payer, calls };
  },
  async (world) => {
    const payer = await world.wallet('self payer');
    const calls = [transfer(payer, payer.address, 9n)];
    return { title: 'a transfer to the same account, which is at two positions', payer, calls };
  },
  async (world) => {
    const payer = await world.wallet('creation payer');
    const owned = await world.signer('created account');
    const blank = await world.wallet('allocated account', COIN);
    return {
      title: 'account creation, allocation and assignment',
      payer,
      calls: [
        call(
          getCreateAccountInstruction({
            payer,
            newAccount: owned,
            lamports: world.ground.rentOf(10),
            space: 10n,
            programAddress: SYSTEM,
          }),
        ),
        call(getAllocateInstruction({ newAccount: blank, space: 8n })),
        call(getAssignInstruction({ account: blank, programAddress: TOKEN })),
      ],
    };
  },
  async (world) => {
    const payer = await world.wallet('first failure payer');
    const to = await world.wallet('first failure receiver');
    const lines = [other(`Transfer: insufficient lamports ${COIN - 5_000n}, need ${COIN}`)];
    const first = { ...transfer(payer, to.address, COIN), steps: lines, ...OUT_OF_FUNDS };
    return {
      title: 'failure of the first of two instructions',
      payer,
      calls: [first, transfer(payer, to.address, 1n)],
      err: '{"InstructionError":[0,{"Custom":1}]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('middle failure payer');
    const to = await world.wallet('middle failure receiver');
    const lines = [other(`Transfer: insufficient lamports ${COIN - 5_005n}, need ${COIN}`)];
    const middle = { ...transfer(payer, to.address, COIN), steps: lines, ...OUT_OF_FUNDS };
    return {
      title: 'failure of the middle one of three instructions',
      payer,
      calls: [transfer(payer, to.address, 5n), middle, transfer(payer, to.address, 6n)],
      err: '{"InstructionError":[1,{"Custom":1}]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('existing account payer');
    const account = await world.wallet('existing account', 1_000n);
    const { address } = account;
    const text = `Create Account: account Address { address: ${address}, base: None } already in use`;
    const creation = getCreateAccountInstruction({
      payer,
      newAccount: account,
      lamports: 1n,
      space: 0n,
      programAddress: SYSTEM,
    });
    return {
      title: 'creation of an account that exists',
      payer,
      calls: [call(creation, [other(text)], { error: 'custom program error: 0x0' })],
      err: '{"InstructionError":[0,{"Custom":0}]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('rent payer');
    const { address } = await world.signer('too poor to exist');
    return {
      title: 'a full run refused for the rent of an account',
      payer,
      calls: [transfer(payer, address, 5n)],
      err: '{"InsufficientFundsForRent":{"account_index":1}}',
    };
  },
  async (world) => {
    const payer = await world.wallet('no program payer');
    const { address } = await world.signer('no program');
    const data = Uint8Array.of(1, 2, 3);
    return {
      title: 'a program that does not exist, so that only the fee is paid',
      payer,
      calls: [
        call({ programAddress: address, accounts: [], data }),
        transfer(payer, payer.address, 1n),
      ],
      err: '{"InvalidProgramForExecution":null}',
      nothingRuns: true,
    };
  },
  async (world) => {
    const payer = await world.wallet('budget payer');
    const to = await world.wallet('budget receiver');
    return {
      title: 'a compute budget with a price that raises the fee',
      payer,
      calls: [
        call(getSetComputeUnitLimitInstruction({ units: 1_000 })),
        call(getSetComputeUnitPriceInstruction({ microLamports: 1_234_567n })),
        transfer(payer, to.address, 1n),
      ],
      fee: 5_000n + 1_235n,
    };
  },
  async (world) => {
    const payer = await world.wallet('small budget payer');
    const to = await world.wallet('small budget receiver');
    return {
      title: 'a native program out of units',
      payer,
      calls: [
        call(getSetComputeUnitLimitInstruction({ units: 200 })),
        { ...transfer(payer, to.address, 1n), error: 'Computational budget exceeded' },
      ],
      err: '{"InstructionError":[1,"ComputationalBudgetExceeded"]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('precompile payer');
    return {
      title: 'a precompile alone, without log lines',
      payer,
      calls: [call(verifyNoSignature())],
    };
  },
  async (world) => {
    const payer = await world.wallet('precompiles payer');
    const to = await world.wallet('precompiles receiver');
    const silent = call(verifyNoSignature());
    return {
      title: 'precompiles before, between and after programs that print',
      payer,
      calls: [
        silent,
        transfer(payer, to.address, 1n),
        silent,
        transfer(payer, to.address, 2n),
        silent,
      ],
    };
  },
  async (world) => {
    const payer = await world.wallet('voter');
    return {
      title: 'a vote, failed',
      version: 'legacy',
      payer,
      calls: [brokenVote(payer)],
      err: '{"InstructionError":[0,"InvalidAccountOwner"]}',
    };
  },
  async (world) => {
    const payer = await world.wallet('voter with a budget');
    return {
      title: 'a vote with a compute budget instruction, which does not count as a vote',
      payer,
      calls: [call(getSetComputeUnitLimitInstruction({ units: 9_000 })), brokenVote(payer)],
      err: '{"InstructionError":[1,"InvalidAccountOwner"]}',
    };
  },
];
