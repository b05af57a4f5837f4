/** The two processes of a measurement at the head: a simulated node, and a service that follows it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import { CommandProcess } from './command-process.ts';
import { LedgerClock } from './ledger-clock.ts';
import { ScenarioFailure } from './scenario.ts';

export const datasetName = 'bench';

/** Forks are disabled, because they would end responses during the measurement. */
const forkRate = 0;
const startSlotDefault = 1_000;
const slotMsDefault = 400;
const catchUpMsMax = 60_000;
const lookEveryMs = 100;

export interface SimulatorOptions {
  readonly seed: number;
  readonly profile: 'demo' | '2025' | 'busy';
  /** The head while the node's time is paused; 1000 by default. */
  readonly startSlot?: number;
  /** The duration of a slot; 400 by default. */
  readonly slotMs?: number;
}

export class SimulatorProcess {
  readonly process: CommandProcess;
  readonly rpcUrl: string;
  readonly grpcUrl: string;

  readonly #controlUrl: string;
  readonly #chain: SimulatedChain;

  private constructor(started: CommandProcess, urls: readonly string[], chain: SimulatedChain) {
    const [rpcUrl = '', grpcUrl = '', controlUrl = ''] = urls;
    this.process = started;
    this.rpcUrl = rpcUrl;
    this.grpcUrl = grpcUrl;
    this.#controlUrl = controlUrl;
    this.#chain = chain;
  }

  /** Starts the node with its time paused, so that a service can catch up. */
  static async start(options: SimulatorOptions): Promise<SimulatorProcess> {
    const { seed, profile, startSlot = startSlotDefault, slotMs = slotMsDefault } = options;
    const shape = ['--seed', `${seed}`, '--profile', profile, '--fork-rate', `${forkRate}`];
    const ports = ['--port', '0', '--ws-port', '0', '--control-port', '0', '--grpc-port', '0'];
    const { process: started, found } = await CommandProcess.start(
      ['simulate', ...shape, ...ports, '--start-slot', `${startSlot}`, '--slot-ms', `${slotMs}`],
      /JSON-RPC\s+(\S+)[\s\S]*gRPC\s+(\S+)[\s\S]*control\s+(\S+)/,
    );
    const chain = new SimulatedChain({ seed, forkRate, startSlot, slotMs });
    const simulator = new SimulatorProcess(started, found, chain);
    await simulator.#setTime({ pause: true });
    return simulator;
  }

  async confirmedSlot(): Promise<number> {
    const time = await (await fetch(`${this.#controlUrl}/time`)).json();
    return (time as { confirmedSlot: number }).confirmedSlot;
  }

  /** Resumes its time. */
  async resume(): Promise<LedgerClock> {
    await this.#setTime({ pause: false });
    return LedgerClock.read(this.#controlUrl, this.#chain);
  }

  async #setTime(change: object): Promise<void> {
    const body = JSON.stringify(change);
    await (await fetch(`${this.#controlUrl}/time`, { method: 'POST', body })).text();
  }
}

export interface FollowOptions {
  readonly grpcUrl?: string | undefined;
  /** The first block; the head by default. */
  readonly from?: number | 'latest';
}

export class ServiceProcess {
  readonly process: CommandProcess;
  readonly port: number;
  readonly adminUrl: string;

  private constructor(started: CommandProcess, port: number, adminUrl: string) {
    this.process = started;
    this.port = port;
    this.adminUrl = adminUrl;
  }

  static async start(dataFolder: string, args: readonly string[] = []): Promise<ServiceProcess> {
    const listen = ['--port', '0', '--admin-port', '0'];
    const { process: started, found } = await CommandProcess.start(
      ['serve', '--data', dataFolder, ...listen, ...args],
      /Serving .* at \S+:(\d+) \(operator: (\S+)\)/,
    );
    const [port, adminUrl = ''] = found;
    return new ServiceProcess(started, Number(port), adminUrl);
  }

  /** Starts a service that follows a node from its head or from a slot, over gRPC too if its address is given. */
  static follow(
    folder: string,
    rpcUrl: string,
    { grpcUrl, from = 'latest' }: FollowOptions = {},
  ): Promise<ServiceProcess> {
    const source = ['--rpc', rpcUrl, '--dataset', datasetName, '--from', `${from}`];
    const pushing = grpcUrl === undefined ? [] : ['--grpc', grpcUrl];
    return ServiceProcess.start(folder, [...source, ...pushing]);
  }

  /** Returns the slot of its newest block. */
  async head(): Promise<number | null> {
    const url = `http://127.0.0.1:${this.port}/datasets/${datasetName}/head`;
    const head = (await (await fetch(url)).json()) as { number: number } | null;
    return head?.number ?? null;
  }

  /** Returns the text of a response. */
  async ask(body: object): Promise<Buffer> {
    return Buffer.from(await (await askStream(this.port, body)).arrayBuffer());
  }

  /** Resolves when the service has this block. */
  async untilAt(slot: number): Promise<void> {
    for (let waitedMs = 0; waitedMs < catchUpMsMax; waitedMs += lookEveryMs) {
      const head = await this.head();
      if (head !== null && head >= slot) return;
      await sleep(lookEveryMs);
    }
    throw new ScenarioFailure('the service did not catch up with the node');
  }

  /** Returns the number of ended streams by reason. */
  async streamEnds(): Promise<string> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    const found = text.matchAll(/^sluice_http_stream_ends_total\{reason="(\w+)"\} (\d+)$/gm);
    const ends = [...found].map(([, reason, count]) => `${reason} ${count}`);
    return ends.length === 0 ? 'none' : ends.join(', ');
  }

  /** Returns a metric without labels. Reading some metrics resets their interval. */
  async metric(name: string): Promise<number | undefined> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  }
}

/** Requests a response without compression. */
export function askStream(port: number, body: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/datasets/${datasetName}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
    body: JSON.stringify(body),
  });
}
