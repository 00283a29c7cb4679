/** The peers of `--peers`, and one table that compares them. */
import { cpuRatios, type Figures, median } from '../measure.ts'
import { table } from '../simulation/table.ts'
import type { TargetName } from '../target.ts'
import { gomodel } from './gomodel.ts'
import { litellm } from './litellm.ts'
import { nginx } from './nginx.ts'
import type { InstalledPeer, Peer } from './peer.ts'
import { portkey } from './portkey.ts'

const PEERS: Readonly<Record<string, Peer>> = { gomodel, litellm, portkey, nginx }

export const PEER_NAMES: readonly string[] = Object.keys(PEERS)

export interface Peers {
  /** Peers that can be started, by the names of targets. */
  readonly installed: ReadonlyMap<TargetName, InstalledPeer>
  /** Peers that could not be had, with the reason. */
  readonly missing: ReadonlyMap<string, string>
  remove(): void
}

export const NO_PEERS: Peers = { installed: new Map(), missing: new Map(), remove: () => undefined }

/** Installs them one after the other; what cannot be had is missing, and the run goes on. */
export function installPeers(names: readonly string[], say: (text: string) => void): Peers {
  const installed = new Map<TargetName, InstalledPeer>()
  const missing = new Map<string, string>()
  for (const [name, peer] of Object.entries(PEERS).filter(([name]) => names.includes(name))) {
    try {
      const had = peer.install()
      for (const target of peer.targets) installed.set(target, had)
      say(`${name} ${had.version} is installed`)
    } catch (error) {
      for (const target of peer.targets) missing.set(target, error instanceof Error ? error.message : String(error))
      say(`${name} is missing: ${missing.get(peer.targets[0] ?? '')}`)
    }
    for (const [setting, why] of Object.entries(peer.never ?? {})) missing.set(setting, why)
  }
  const remove = (): void => {
    for (const one of new Set(installed.values())) one.remove()
  }
  return { installed, missing, remove }
}

/** Records that each of them keeps of a request. */
const KEEPS: Readonly<Partial<Record<TargetName, string>>> = {
  headgate: 'key, hold, ledger, metrics, log',
  'gomodel-usage': 'key, rows of use',
  gomodel: 'key',
  litellm: 'key',
  portkey: 'nothing',
  nginx: 'nothing, reads nothing',
  'blind-proxy': 'nothing, reads nothing',
  forwarder: 'nothing',
}

const COMPARED = ['chat', 'chat-stream', 'chat-stream-paced', 'agent-chat-chat']

/** One row per target: CPU per request, and the median of its ratios to headgate's neighbouring rounds with their spread. */
export function peersText(scenarios: ReadonlyMap<string, readonly Figures[]>, { installed, missing }: Peers): string {
  const measured = COMPARED.filter((name) => scenarios.has(name))
  const find = (scenario: string, target: TargetName): Figures | undefined => scenarios.get(scenario)?.find((one) => one.target === target)
  const cells = (scenario: string, target: TargetName): string[] => {
    const own = find(scenario, target)
    const ratios = cpuRatios(own, find(scenario, 'headgate'))
    if (own?.cpuMicros === undefined) return ['', '', '']
    const spread = ratios === undefined ? '' : `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
    return [own.cpuMicros.toFixed(0), ratios === undefined ? '' : `${median(ratios).toFixed(2)}×`, spread]
  }
  const shown = (Object.keys(KEEPS) as TargetName[]).filter((target) => measured.some((scenario) => find(scenario, target) !== undefined))
  const rows = shown.map((target) => [
    target,
    installed.get(target)?.version ?? '',
    KEEPS[target] ?? '',
    ...measured.flatMap((scenario) => cells(scenario, target)),
    Math.max(...measured.map((scenario) => find(scenario, target)?.peak ?? 0)).toFixed(0),
  ])
  const head = ['target', 'version', 'keeps', ...measured.flatMap((name) => [`${name}, CPU µs`, 'to headgate', 'spread']), 'peak MB']
  const lines = [...missing].map(([name, why]) => `- ${name} is missing: ${why}`)
  return `## Peers\n\n${table(head, rows)}\n${lines.length > 0 ? `\n${lines.join('\n')}\n` : ''}`
}
