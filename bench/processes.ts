/** Starts the processes of a run, reads what they cost from /proc, and makes sure that none stays behind. */
import { type ChildProcess, fork } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

/** Clock ticks per second in /proc/PID/stat; fixed at 100 by the kernel's user interface (proc(5), sysconf). */
const TICKS_PER_SECOND = 100

const START_MS = 60_000
const STOP_MS = 8_000

const children = new Set<ChildProcess>()

/** Kills what still runs, when the run ends for whatever reason. */
export function killChildrenOnExit(): void {
  process.on('exit', () => {
    for (const child of children) killFamily(child)
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
}

/** A launcher's child does not die with it. */
function killFamily(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    for (const pid of family(child.pid)) process.kill(pid, 'SIGKILL')
  } catch {
    // One has ended between the look and the signal; its launcher must still go.
    child.kill('SIGKILL')
  }
}

/** Registers a child, so that it cannot outlive the run. */
export function keepTrack(child: ChildProcess): ChildProcess {
  children.add(child)
  child.on('exit', () => children.delete(child))
  return child
}

/** Starts one of our own scripts; resolves when it says `{ port }`. */
export async function startScript(
  script: string,
  args: readonly string[] = [],
  nodeFlags: readonly string[] = [],
): Promise<{ child: ChildProcess; port: number }> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = keepTrack(fork(path, args, { execArgv: [...nodeFlags], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }))
  const port = await new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${script} did not start`)), START_MS)
    child.once('message', (message: { port: number }) => {
      clearTimeout(timer)
      resolve(message.port)
    })
    child.once('exit', (code) => reject(new Error(`${script} ended at its start with code ${code}`)))
  })
  return { child, port }
}

/** Asks a child to end, then makes it. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  const timer = setTimeout(() => killFamily(child), STOP_MS)
  await ended
  clearTimeout(timer)
}

/** A loopback port that nobody listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** The process and all below it: a launcher may have started the real one. */
function family(pid: number): number[] {
  const direct = readdirSync(`/proc/${pid}/task`)
    .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim())
    .filter((list) => list !== '')
    .flatMap((list) => list.split(' ').map(Number))
  return [pid, ...direct.flatMap(family)]
}

/** CPU seconds (user and system, all threads) that a process and its children have used: /proc/PID/stat, fields 14 and 15. */
export function cpuSeconds(pid: number): number {
  let ticks = 0
  for (const member of family(pid)) {
    const stat = readFileSync(`/proc/${member}/stat`, 'utf8')
    // The second field is a name in brackets that may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / TICKS_PER_SECOND
}

function statusMegabytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  let kilobytes = 0
  for (const member of family(pid)) {
    kilobytes += Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${member}/status`, 'utf8'))?.[1] ?? 0)
  }
  return (kilobytes * 1024) / 1e6
}

/** Resident memory now, megabytes (10^6 bytes). */
export const residentMegabytes = (pid: number): number => statusMegabytes(pid, 'VmRSS')

/** The most resident memory since the process started, megabytes (10^6 bytes). */
export const peakMegabytes = (pid: number): number => statusMegabytes(pid, 'VmHWM')
