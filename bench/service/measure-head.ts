/**
 * The common part of the scenarios at the head: both processes, the followers, and the resource usage of the service.
 */
import { chooseFollowerQueries } from './choose-follower-queries.ts';
import { compareAnswers } from './compare-answers.ts';
import { FollowerLoad, type LoadResult } from './follower-load.ts';
import { machineCpuSeconds } from './machine-load.ts';
import { ServiceProcess, SimulatorProcess } from './processes.ts';
import type { ScenarioContext } from './scenario.ts';

export interface HeadOptions {
  readonly profile: '2025' | 'busy';
  readonly followerCount: number;
  readonly queryCount: number;
  /** Whether the service follows the node over gRPC. */
  readonly isPushed?: boolean;
}

export interface HeadResult extends LoadResult {
  /** CPU usage of the service in cores. */
  readonly cores: number;
  readonly simulatorCores: number;
  readonly clientCores: number;
  /** CPU usage of other processes of the machine, which should be zero. */
  readonly otherCores: number;
  readonly anonymousBytesPeak: number;
  /** The maximum event loop delay of the service's main thread. */
  readonly loopDelayMsMax: number | undefined;
  /** The number of bytes that were requested again and found equal. */
  readonly comparedBytes: number;
}

const answerBytesGoal = 20_000;
/** The warm-up time, because cold code is not representative. */
const warmSeconds = 5;

export async function measureHead(
  { profile, followerCount, queryCount, isPushed = false }: HeadOptions,
  context: ScenarioContext,
): Promise<HeadResult> {
  const { options, folder, progress } = context;
  const { seed, seconds } = options;
  progress('choosing queries');
  const queries = chooseFollowerQueries({ seed, profile }, { count: queryCount, answerBytesGoal });
  progress('starting the simulator and the service');
  const simulator = await SimulatorProcess.start({ seed, profile });
  const grpcUrl = isPushed ? simulator.grpcUrl : undefined;
  const service = await ServiceProcess.follow(folder, simulator.rpcUrl, { grpcUrl });
  let load: FollowerLoad | undefined;
  try {
    await service.untilAt(await simulator.confirmedSlot());
    load = new FollowerLoad(
      { port: service.port, followerCount, queries },
      { clock: await simulator.resume(), head: () => service.head(), progress },
    );
    await load.open();
    await load.measure(warmSeconds);
    progress(`measuring for ${seconds} s`);
    await service.metric(loopDelayMetric);
    const spent = () => [
      service.process.cpuSeconds(),
      simulator.process.cpuSeconds(),
      ownCpuSeconds(),
      machineCpuSeconds(),
      performance.now() / 1000,
    ];
    const before = spent();
    const result = await load.measure(seconds);
    const [cores = 0, simulatorCores = 0, clientCores = 0, machineCores = 0] = coresOf(
      before,
      spent(),
    );
    const delay = await service.metric(loopDelayMetric);
    const comparedBytes = await compareAnswers(load.answers(), { service, queries });
    return {
      ...result,
      cores,
      simulatorCores,
      clientCores,
      otherCores: machineCores - cores - simulatorCores - clientCores,
      anonymousBytesPeak: service.process.anonymousBytesPeak,
      loopDelayMsMax: delay === undefined ? undefined : delay * 1000,
      comparedBytes,
    };
  } catch (error) {
    progress(`streams that ended, as the service counts them: ${await service.streamEnds()}`);
    progress(`the end of the service's log:\n${service.process.lastErrors}`);
    throw error;
  } finally {
    load?.close();
    await service.process.stop();
    await simulator.process.stop();
  }
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Computes rates from times, of which the last one is the elapsed time. */
function coresOf(before: readonly number[], after: readonly number[]): number[] {
  const passed = after.map((seconds, i) => seconds - (before[i] ?? 0));
  return passed.slice(0, -1).map((seconds) => seconds / (passed.at(-1) ?? 1));
}

const loopDelayMetric = 'sluice_loop_delay_seconds';
