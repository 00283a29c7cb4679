/** Targets of a load: the mock itself, the baselines, headgate and its peers. */
import { startGateway } from './gateway.ts'
import type { InstalledPeer } from './peers/peer.ts'
import { startScript, stop } from './processes.ts'

export type TargetName =
  | 'direct'
  | 'forwarder'
  | 'blind-proxy'
  | 'headgate'
  | 'guarded'
  | 'gomodel'
  | 'gomodel-usage'
  | 'litellm'
  | 'portkey'
  | 'nginx'

/** A running target. */
export interface Target {
  readonly name: TargetName
  readonly port: number
  /** The process whose cost counts; none for the mock alone. */
  readonly pid: number | undefined
  /** Headers that only this target needs. */
  readonly headers: Record<string, string>
  stop(): Promise<void>
  /** The end of what the target wrote, where it is kept. */
  readonly logTail?: () => string
  /** Called after the load with the number of requests. @throws Error when the target did not do what it should. */
  check(requests: number): Promise<void>
}

/** Surroundings of the targets. */
export interface Ground {
  readonly mockPort: number
  readonly peers: ReadonlyMap<TargetName, InstalledPeer>
}

async function startBaseline(name: TargetName, script: string, mockPort: number): Promise<Target> {
  const { child, port } = await startScript(script, [String(mockPort)])
  return { name, port, pid: child.pid, headers: {}, stop: () => stop(child), check: async () => undefined }
}

async function startHeadgate(name: TargetName, mockPort: number): Promise<Target> {
  const gateway = await startGateway(mockPort, { guardrails: name === 'guarded' })
  return {
    name,
    port: gateway.port,
    pid: gateway.child.pid,
    headers: {},
    stop: () => gateway.stop(),
    logTail: gateway.logTail,
    check: (requests) => gateway.checkFeatures(requests),
  }
}

/** Starts a target afresh. @throws Error when it does not start. */
export async function startTarget(name: TargetName, ground: Ground): Promise<Target> {
  if (name === 'direct') {
    return { name, port: ground.mockPort, pid: undefined, headers: {}, stop: async () => undefined, check: async () => undefined }
  }
  if (name === 'forwarder') return startBaseline(name, 'baselines/forwarder.ts', ground.mockPort)
  if (name === 'blind-proxy') return startBaseline(name, 'baselines/blind-proxy.ts', ground.mockPort)
  if (name === 'headgate' || name === 'guarded') return startHeadgate(name, ground.mockPort)
  const peer = ground.peers.get(name)
  if (peer === undefined) throw new Error(`${name} is not installed: run with --peers`)
  return peer.start(name, ground.mockPort)
}
