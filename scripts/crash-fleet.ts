/** The gateways that are killed: one alone, one with workers, or several on one store of record. */

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { entryAt } from '../src/core/entry-at.ts'
import { freePorts, SECRET, writeConfiguration } from '../test/support/crash/configuration.ts'
import { processFamily } from '../test/support/crash/processes.ts'
import { type Program, runProgram, serveProgram } from '../test/support/program.ts'

export interface FleetOptions {
  directory: string
  /** Address of the fake provider. */
  provider: string
  /** Address of a PostgreSQL database; undefined: a SQLite file in the directory. */
  record: string | undefined
  /** Gateways; more than one only with a record. */
  nodes: number
  /** Worker processes of each; 0: it serves by itself. */
  workers: number
  random: () => number
}

interface Node {
  readonly args: readonly string[]
  readonly file: string
  readonly url: string
  readonly admin: string
  program: Program | undefined
}

/** End of a round. */
export type Manner = 'serving' | 'draining' | 'starting' | 'worker'

/** Secret of a key that runs into its allowances, and what these allow in nano-dollars. */
export const POOR_SECRET = 'sk-router-v1-poor0000000000000000'
export const POOR_MAY_SPEND = 1_500_000_000
const KEYS = `- { name: app, key: "${SECRET}", limit: "1000000.00" }
    - { name: poor, key: "${POOR_SECRET}", limit: "2.00", limit_reset: monthly }`
/** A budget in a window of its own, and one that never ends: the tightest one decides. */
const GUARDRAILS = `[ { name: week, scope: { keys: [ poor ] }, limit_usd: 1.8, reset_interval: weekly }, { name: ever, scope: { keys: [ poor ] }, limit_usd: 1.5 } ]`

/** Milliseconds within which a start is cut. */
const START = 700

export class Fleet {
  private readonly nodes: Node[] = []
  private readonly options: FleetOptions
  private turn = 0

  private constructor(options: FleetOptions) {
    this.options = options
  }

  static async open(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options)
    const { directory, provider, record } = options
    for (let index = 0; index < options.nodes; index++) {
      const [port = 0, admin = 0] = await freePorts(2)
      const file = join(directory, `headgate-${index}.yaml`)
      const store = join(directory, record ? `journal-${index}.db` : 'ledger.db')
      writeConfiguration(file, { port, admin, store, record, provider, keys: KEYS, guardrails: GUARDRAILS })
      const workers = options.workers > 0 ? ['--workers', String(options.workers)] : []
      const args = ['serve', '--config', file, ...workers]
      fleet.nodes.push({ args, file, url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${admin}`, program: undefined })
    }
    return fleet
  }

  /** Address of the gateways in turn; those that are dead too. */
  readonly address = (): string => entryAt(this.nodes, this.turn++ % this.nodes.length).url

  /** Admin address of one of them. */
  get admin(): string {
    return entryAt(this.nodes, 0).admin
  }

  /** Starts what does not run. */
  async start(): Promise<void> {
    await Promise.all(
      this.nodes.map(async (node) => {
        node.program ??= await serveProgram(node.args)
      }),
    )
  }

  /** Kills one of the gateways, or all of them, or one worker. @returns how it happened. */
  async kill(round: number): Promise<Manner> {
    const { random, workers } = this.options
    const all = this.nodes.length === 1 || random() < 0.25
    const victims = all ? this.nodes : [entryAt(this.nodes, Math.floor(random() * this.nodes.length))]
    if (workers > 0 && round % 2 === 0) return this.killWorker(entryAt(victims, 0))
    const draining = round % 3 === 2
    await Promise.all(victims.map((node) => killed(node, draining)))
    if (round % 4 !== 1) return draining ? 'draining' : 'serving'
    await Promise.all(victims.map((node) => this.cutStart(node)))
    return 'starting'
  }

  /** Balances of a key as the API shows them, in nano-dollars. @throws where it does not answer. */
  async balance(secret: string): Promise<{ usage: number; remaining: number; limit: number }> {
    const reply = await fetch(`${entryAt(this.nodes, 0).url}/v1/key`, { headers: { authorization: `Bearer ${secret}` } })
    const { data } = (await reply.json()) as { data: { usage: number; limit: number; limit_remaining: number } }
    const nano = (usd: number): number => Math.round(usd * 1e9)
    return { usage: nano(data.usage), remaining: nano(data.limit_remaining), limit: nano(data.limit) }
  }

  /** Ends all as an operator would. @returns what `ledger verify` says when nobody runs, and its exit code. */
  async close(): Promise<{ code: number | null; text: string }> {
    for (const { program } of this.nodes) program?.child.kill('SIGTERM')
    for (const { program } of this.nodes) await program?.exited
    const verify = runProgram(['ledger', 'verify', '--full', '--config', entryAt(this.nodes, 0).file])
    const { code } = await verify.exited
    return { code, text: (verify.out() + verify.err()).trim() }
  }

  /** The end of what each gateway has logged. */
  told(): string {
    return this.nodes.map(({ program }) => `${program?.out() ?? ''}${program?.err() ?? ''}`.slice(-4000)).join('\n')
  }

  /** Whatever still runs ends at once. */
  abandon(): void {
    for (const { program } of this.nodes) if (program) killFamily(program)
  }

  private async killWorker(node: Node): Promise<Manner> {
    const parent = node.program?.child.pid
    if (parent === undefined) throw new Error('the gateway does not run')
    const workers = processFamily(parent).filter((status) => status.pid !== parent)
    if (workers.length === 0) throw new Error('the gateway has no workers')
    process.kill(entryAt(workers, Math.floor(this.options.random() * workers.length)).pid, 'SIGKILL')
    return 'worker'
  }

  /** Starts it and kills it before it listens, or just after: the recovery itself is cut. */
  private async cutStart(node: Node): Promise<void> {
    const program = runProgram(node.args)
    await new Promise((resolve) => setTimeout(resolve, this.options.random() * START))
    killFamily(program)
    await program.exited
  }
}

async function killed(node: Node, draining: boolean): Promise<void> {
  const { program } = node
  if (!program) throw new Error('the gateway does not run')
  if (draining) {
    program.child.kill('SIGTERM')
    await program.until(/draining/)
  }
  killFamily(program)
  const { signal } = await program.exited
  if (signal !== 'SIGKILL') throw new Error(`the gateway ended by itself:\n${program.out()}${program.err()}`)
  node.program = undefined
}

/** Its workers as well, all at once. */
function killFamily({ child }: Program): void {
  if (child.pid === undefined) return
  for (const { pid } of processFamily(child.pid)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It was faster.
    }
  }
}

export function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
