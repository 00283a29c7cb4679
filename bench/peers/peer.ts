/** A peer of the bench: something that can be had and started, or is missing with a reason. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepTrack, stop } from '../processes.ts'
import type { Target, TargetName } from '../target.ts'

/** A peer that was had; `start` puts it in front of the mock. */
export interface InstalledPeer {
  readonly version: string
  start(name: TargetName, upstream: number): Promise<Target>
  remove(): void
}

export interface Peer {
  /** Each setting of it that is measured: with rows of use where it has them, and without. */
  readonly targets: readonly TargetName[]
  /** Settings that cannot be had here, with the reason. */
  readonly never?: Readonly<Record<string, string>>
  /** @throws Error with the reason where it cannot be had. */
  install(): InstalledPeer
}

/** A Python program of hundreds of modules takes minutes on a machine that does other things. */
const START_MS = 600_000

/** Of installers. */
const PRIORITY = 10

/** A folder for the length of a run. */
export function peerFolder(name: string): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), `headgate-bench-${name}-`))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.on('exit', remove)
  return { folder, remove }
}

/** Runs an installer at low priority. @returns what it printed. @throws Error with the end of it where it fails. */
export function install(command: string, args: readonly string[], folder: string, env: NodeJS.ProcessEnv = {}): string {
  // The priority that the run itself has adds up.
  const lower = Math.max(0, PRIORITY - getPriority())
  const done = spawnSync('nice', ['-n', String(lower), command, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (done.status === 0) return done.stdout
  throw new Error(`${command} ${args.slice(0, 2).join(' ')} failed: ${(done.error?.message ?? done.stderr).trim().slice(-600)}`)
}

export interface PeerProcess {
  readonly name: TargetName
  readonly command: string
  readonly args: readonly string[]
  readonly folder: string
  readonly port: number
  readonly env?: NodeJS.ProcessEnv
  readonly headers?: Record<string, string>
  /** A path that is answered, with whatever status, once it listens. */
  readonly path: string
  check?(requests: number): Promise<void>
}

async function listening({ port, path, name }: PeerProcess, over: () => boolean, log: () => string): Promise<void> {
  const deadline = performance.now() + START_MS
  while (performance.now() < deadline && !over()) {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
    await reply?.text()
    if (reply !== undefined) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${name} did not start:\n${log()}`)
}

/** Starts it and waits until it listens. @throws Error with the end of its log where it does not. */
export async function startPeer(peer: PeerProcess): Promise<Target> {
  const { name, command, args, folder, port, env, headers = {} } = peer
  const file = join(folder, `${name}.log`)
  const log = openSync(file, 'a')
  const child = keepTrack(spawn(command, args, { cwd: folder, env: { ...process.env, ...env }, stdio: ['ignore', log, log] }))
  const logTail = (): string => readFileSync(file, 'utf8').slice(-2000)
  try {
    await listening(peer, () => child.exitCode !== null || child.pid === undefined, logTail)
  } catch (error) {
    await stop(child)
    throw error
  }
  return { name, port, pid: child.pid, headers, stop: () => stop(child), logTail, check: async (requests) => peer.check?.(requests) }
}
