/** Commands as people type them, and what is left of them afterwards. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { follow, type Program } from '../program.ts'

export const ROOT = join(import.meta.dirname, '..', '..', '..')

/** The path of a shell that knows nothing of this repository's own tools. */
export const PLAIN_PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter)

/** Runs one line of bash in the repository, as a leader of its own group if asked. */
export function runShell(line: string, group = false): Program {
  const env = { PATH: PLAIN_PATH, HOME: process.env.HOME, npm_config_logs_max: '0', npm_config_update_notifier: 'false' }
  // A debugger or a profiler that NODE_OPTIONS loads into the Node of the tests may change how signals are taken.
  return follow(
    spawn('env', ['-u', 'NODE_OPTIONS', 'bash', '-c', line], { cwd: ROOT, env, detached: group, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
}

interface Status {
  pid: number
  parent: number
  /** When it started: tells two processes of one number apart. */
  since: string
}

function pidStatus(pid: number): Status | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in parentheses and may hold anything.
    const [state, parent, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const since = rest[17]
    return state === 'Z' || since === undefined ? undefined : { pid, parent: Number(parent), since }
  } catch {
    return undefined
  }
}

/** The process and everything that it has started, its children's children included. */
export function processFamily(pid: number): Status[] {
  const all = readdirSync('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .map(pidStatus)
    .filter((status) => status !== undefined)
  const family = all.filter((status) => status.pid === pid)
  for (const { pid: above } of family) family.push(...all.filter((status) => status.parent === above))
  return family
}

/** Those of the family that still run. */
export function left(family: readonly Status[]): Status[] {
  return family.filter(({ pid, since }) => pidStatus(pid)?.since === since)
}

/** True where the port can be listened on. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const listens = new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => resolve(true))
  })
  const free = await listens
  if (free) await new Promise((resolve) => server.close(resolve))
  return free
}

/** A Node too old for the gateway, as a command: the machine's own if it has one, else this one under an older number. */
export function oldNode(): readonly string[] {
  for (const folder of PLAIN_PATH.split(delimiter)) {
    const node = join(folder, 'node')
    if (!existsSync(node)) continue
    const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
    if (Number.parseInt(version, 10) < 24) return [node]
  }
  return [process.execPath, '--import', 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.0.0"})']
}
