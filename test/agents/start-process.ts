/** Agents as processes, and the end of what they leave behind. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { CertifiedAgent, Place } from './agent-run.ts'

/** Milliseconds that a run of an agent may take, on a busy machine too. */
const TIMEOUT_MS = 240_000

export interface Run {
  code: number | null
  out: string
  err: string
}

export interface Started {
  readonly ended: Promise<Run>
  /** Ends the agent and all that it has started, at once. */
  kill(): void
}

/** Starts a program with the agent's variables; a group of processes that ends as one. */
export function startProcess(agent: CertifiedAgent, place: Place, [command, ...args]: readonly string[]): Started {
  const path = [dirname(agent.program(place.install)), dirname(process.execPath), process.env.PATH].join(delimiter)
  const child = spawn(command, args, {
    cwd: place.work,
    env: { PATH: path, HOME: place.home, TMPDIR: join(dirname(place.home), 'tmp'), LANG: 'C.UTF-8', ...place.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  const timer = setTimeout(kill, TIMEOUT_MS)
  const result: Run = { code: null, out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    result.out += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    result.err += chunk.toString()
  })
  const ended = new Promise<Run>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      kill()
      resolve({ ...result, code })
    })
  })
  return { ended, kill }
}

/** Ends processes with this home: Cline leaves `cline-hub-daemon` running, in a group of its own. Where there is no /proc they stay. */
export function endAllIn(home: string): void {
  for (const pid of existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [])
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${home}`)) process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended, or is another user's.
    }
}
