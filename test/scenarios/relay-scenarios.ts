/** Call trees and log lines of any shape, made with the relay program, a test program that makes the calls and prints the lines of its input. */
import { memo } from './memo-scenarios.ts';
import { type Call, call, other, refusedCall } from './planned-transaction.ts';
import { cut, relay, SHOW_UNITS, toBase64 } from './relay-call.ts';
import { encodeRelayScript } from './relay-program.ts';
import { COIN, COMPUTE_BUDGET, type Scenario, type World } from './world.ts';

/** A chain of `depth` nested calls that print text before and after each call. */
function tower(world: World, depth: number, top: Call): Call {
  let tower = top;
  for (let height = depth - 1; height > 0; height--) {
    const deeds = [`down ${height}`, tower, Uint8Array.of(height), `up ${height}`];
    tower = relay(world.relays[0], deeds, top.error === undefined ? {} : { error: top.error });
    if (top.error !== undefined) tower = { ...tower, steps: tower.steps.slice(0, 2) };
  }
  return tower;
}

export const RELAY_SCENARIOS: readonly Scenario[] = [
  async (world) => {
    const [one, two] = world.relays;
    const deep = relay(two, ['deep', Uint8Array.of(1, 2, 3)]);
    const deeper = relay(one, [relay(two, [deep])]);
    const first = relay(one, ['before', deeper, memo('between'), deeper, deep]);
    return {
      title: 'heights 2, 3, 4, 2, 2, 3, 4, 2 and a second call tree',
      payer: await world.wallet('tree payer'),
      calls: [first, relay(two, []), relay(two, [memo('alone'), memo('again')])],
    };
  },
  async (world) => ({
    title: 'calls nine deep',
    payer: await world.wallet('nine payer'),
    calls: [tower(world, 9, relay(world.relays[0], ['the top']))],
  }),
  async (world) => {
    const [one] = world.relays;
    let tower = relay(one, []);
    for (let height = 8; height > 0; height--) tower = relay(one, [tower]);
    return {
      title: 'calls nine deep without log lines, small enough for a ledger',
      payer: await world.wallet('silent nine payer'),
      calls: [tower],
    };
  },
  async (world) => {
    const error = 'Cross-program invocation call depth too deep';
    const refused = refusedCall(relay(world.relays[0], ['never']).instruction);
    return {
      title: 'a tenth nested call that is refused before it starts, so that its ancestors fail',
      payer: await world.wallet('ten payer'),
      calls: [tower(world, 9, { ...relay(world.relays[0], ['the top', refused]), error })],
      err: '{"InstructionError":[0,"CallDepth"]}',
    };
  },
  async (world) => {
    const failing = relay(world.relays[1], ['about to fail', memo('a success before it')], {
      fail: { code: 6001n, text: 'custom program error: 0x1771' },
    });
    const second = tower(world, 3, failing);
    return {
      title: 'a custom error three deep in the second of three instructions',
      payer: await world.wallet('nested failure payer'),
      calls: [memo('first'), second, memo('never')],
      err: '{"InstructionError":[1,{"Custom":6001}]}',
    };
  },
  async (world) => {
    const failing = relay(world.relays[1], [], {
      fail: { code: 2n << 32n, text: 'invalid program argument' },
    });
    return {
      title: 'a named error in a call',
      payer: await world.wallet('named failure payer'),
      calls: [tower(world, 2, failing)],
      err: '{"InstructionError":[0,"InvalidArgument"]}',
    };
  },
  async (world) => {
    const [one, two] = world.relays;
    const panicking = relay(two, ['before'], {
      panic: `a\nProgram ${two} success\r\u2028Program log: b`,
    });
    return {
      title: 'a failure whose text breaks the line and imitates others',
      payer: await world.wallet('panic payer'),
      calls: [cut(relay(one, [panicking]), 'Program failed to complete')],
      err: '{"InstructionError":[0,"ProgramFailedToComplete"]}',
    };
  },
  async (world) => {
    const spinning = relay(world.relays[1], ['spinning'], {
      spin: { text: 'exceeded CUs meter at BPF instruction' },
    });
    const outer = relay(world.relays[0], [memo('before'), spinning, 'never'], {});
    return {
      title: 'out of units in a call',
      payer: await world.wallet('spin payer'),
      calls: [cut(outer, 'Program failed to complete')],
      err: '{"InstructionError":[0,"ProgramFailedToComplete"]}',
    };
  },
  async (world) => {
    const [one, two] = world.relays;
    const error = 'Cross-program invocation reentrancy not allowed for this instruction';
    const relayed = relay(two, ['back to the first', relay(one, [])]);
    // Unlike other refused calls, this one is refused before it is recorded as an instruction.
    const middle = { ...relayed, steps: relayed.steps.slice(0, 1), error };
    return {
      title: 'a call back into a program that waits for its own call',
      payer: await world.wallet('reentrancy payer'),
      calls: [{ ...relay(one, [memo('before'), middle]), error }],
      err: '{"InstructionError":[0,"ReentrancyNotAllowed"]}',
    };
  },
  async (world) => {
    const { address } = await world.wallet('no program, but an account');
    const data = Buffer.from('hello');
    const refused = refusedCall({ programAddress: address, accounts: [], data });
    return {
      title: 'a call of an account that is no program',
      payer: await world.wallet('no program call payer'),
      calls: [cut(relay(world.relays[0], ['before', refused, 'never']), 'Unsupported program id')],
      err: '{"InstructionError":[0,"UnsupportedProgramId"]}',
    };
  },
  async (world) => {
    const { address } = await world.signer('a program nobody named');
    const missing = call({ programAddress: address, accounts: [], data: new Uint8Array(0) });
    const relayed = relay(world.relays[0], ['before', missing]);
    const known = { ...relayed.instruction, accounts: [] };
    return {
      title: 'a call of a program that the transaction does not name',
      payer: await world.wallet('unknown program payer'),
      calls: [
        call(known, ['before', other(`Unknown program ${address}`)], {
          error: 'An account required by the instruction is missing',
        }),
      ],
      err: '{"InstructionError":[0,"MissingAccount"]}',
    };
  },
  async (world) => {
    const budget = call({ programAddress: COMPUTE_BUDGET, accounts: [], data: Buffer.from('any') });
    return {
      title: 'a call of a program without units',
      payer: await world.wallet('budget call payer'),
      calls: [relay(world.relays[0], [budget, memo(''), budget])],
    };
  },
  async (world) => {
    const [one, two] = world.relays;
    const texts = [
      `Program ${two} invoke [2]`,
      `Program ${one} success`,
      'Log truncated',
      '',
      'a\nb\u2028c',
    ];
    const empty = new Uint8Array(0);
    const inner = relay(two, [...texts, empty, SHOW_UNITS], { return: 'a value' });
    return {
      title: 'every kind of line, imitations, and return data at both levels',
      payer: await world.wallet('lines payer'),
      calls: [
        relay(one, [...texts, inner, SHOW_UNITS], { returned: toBase64(Buffer.from('a value')) }),
      ],
    };
  },
  async (world) => {
    const broken = encodeRelayScript([{ do: 'log', text: Uint8Array.of(0xff, 0x61) }]);
    const error = 'invalid utf-8 sequence of 1 bytes from index 0: [255, 97]';
    return {
      title: 'a log line that is no text',
      version: 'legacy',
      payer: await world.wallet('bad text payer', COIN),
      calls: [call({ programAddress: world.relays[0], accounts: [], data: broken }, [], { error })],
      err: '{"InstructionError":[0,"ProgramFailedToComplete"]}',
    };
  },
  async (world) => {
    const [one, two] = world.relays;
    const long = 'x'.repeat(3_150);
    const loud = relay(two, [long, 'short', long, memo('small'), long, 'kept after the mark']);
    return {
      title: 'a log that overflows three deep: ancestors lose their end',
      overflows: true,
      payer: await world.wallet('deep overflow payer'),
      calls: [
        memo('whole'),
        relay(one, ['one', relay(one, ['two', loud, 'three'])]),
        relay(two, ['after']),
      ],
    };
  },
  async (world) => {
    const [one, two] = world.relays;
    const failing = relay(two, ['y'.repeat(4_900), 'z'.repeat(4_900)], {
      fail: { code: 7n, text: 'custom program error: 0x7' },
    });
    return {
      title: 'a failure whose lines were lost',
      overflows: true,
      payer: await world.wallet('lost failure payer'),
      calls: [
        memo('whole'),
        cut(relay(one, [failing]), 'custom program error: 0x7'),
        memo('never'),
      ],
      err: '{"InstructionError":[1,{"Custom":7}]}',
    };
  },
  async (world) => {
    const [one] = world.relays;
    return {
      title: 'a line longer than a whole log may be',
      overflows: true,
      payer: await world.wallet('long line payer'),
      calls: [relay(one, ['w'.repeat(10_000), 'kept']), relay(one, ['later'])],
    };
  },
];
