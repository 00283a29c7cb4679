/** Targets of a load: the mock itself, the baselines, headgate and its peers. */
import { startGateway } from './gateway.ts'
import type { InstalledPeer } from './peers/peer.ts'
import { startScript, stop } from './processes.ts'
import type { Target, TargetName } from './target.ts'

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
