/** A model server in a process of its own, beside the tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'

export interface ModelServer {
  /** Without `/v1`. */
  readonly url: string
  /** Ends it in the middle of whatever it does. */
  kill(): Promise<void>
  /** Starts it again on the same port. */
  start(): Promise<void>
  /** Seconds of processor that it has used, the processes that it has started among them. */
  processorTime(): number
}

export interface Command {
  readonly path: string
  readonly args: (port: number) => readonly string[]
  readonly env?: (port: number) => Record<string, string>
  /** Path that answers 200 once it serves. */
  readonly ready: string
}

/** Milliseconds that the slowest needs on a busy machine: vLLM was seen to take nine minutes. */
const TIMEOUT_MS = 900_000

/** Everything that it starts ends with its standard input, and so with the test, whatever ends that. */
const GUARDED = '("$@"; kill -9 0) & cat > /dev/null; kill -9 0'

/** Ticks of processor time in a second, as Linux counts them for programs (`proc(5)`, USER_HZ). */
const TICKS = 100

/** Seconds of processor that the processes of a group have used. */
function timeOfGroup(group: number): number {
  const times = readdirSync('/proc').map((name) => {
    const stat = /^\d+$/.test(name) ? processStat(name) : undefined
    // Behind the name, in brackets: state, parent, group … user time, system time (`proc(5)`).
    const [, , of, ...rest] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
    return Number(of) === group ? (Number(rest[8]) + Number(rest[9])) / TICKS : 0
  })
  return times.reduce((sum, time) => sum + time, 0)
}

function processStat(process: string): string | undefined {
  try {
    return readFileSync(`/proc/${process}/stat`, 'utf8')
  } catch {
    return undefined
  }
}

interface Running {
  readonly group: number
  end(): Promise<void>
}

/** Starts it; it stops when `t` ends. */
export async function startServer(t: Test, command: Command): Promise<ModelServer> {
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  let running: Running | undefined
  const start = async (): Promise<void> => {
    running ??= await begin(command, port, url)
  }
  const kill = async (): Promise<void> => {
    const last = running
    running = undefined
    await last?.end()
  }
  t.teardown(kill)
  await start()
  return { url, kill, start, processorTime: () => (running ? timeOfGroup(running.group) : 0) }
}

async function begin({ path, args, env, ready }: Command, port: number, url: string): Promise<Running> {
  const words = ['-c', GUARDED, 'sh', 'nice', '-n', '5', path, ...args(port)]
  const child = spawn('sh', words, { detached: true, stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env?.(port) } })
  child.stdin.on('error', () => {})
  let utterance = ''
  let isGone = false
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      utterance = (utterance + chunk.toString()).slice(-4000)
    })
  const gone = once(child, 'exit').then(() => {
    isGone = true
  })
  const end = async (): Promise<void> => {
    child.stdin.end()
    await gone
  }
  const answers = async (): Promise<boolean> => {
    if (isGone) throw new Error(`the server has ended:\n${utterance}`)
    const response = await fetch(`${url}${ready}`).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status === 200
  }
  try {
    await eventually(`${path} serves`, answers, { limit: TIMEOUT_MS, found: () => utterance })
  } catch (error) {
    await end()
    throw error
  }
  return { group: child.pid ?? 0, end }
}
