/** The program as people start it: a process of its own, watched through its output. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'bin', 'headgate.js')

export interface Program {
  readonly child: ChildProcess
  /** Everything written so far. */
  readonly out: () => string
  readonly err: () => string
  /** Resolves with the match once the output holds it; rejects if the program ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export interface ProgramOptions {
  cwd?: string
  env?: Record<string, string>
}

/** Runs the launcher with these arguments, under this very Node. */
export function runProgram(args: readonly string[], options: ProgramOptions = {}): Program {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  let ended = false
  let watchers: (() => void)[] = []
  const wake = (): void => {
    const woken = watchers
    watchers = []
    for (const watcher of woken) watcher()
  }
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    wake()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
    wake()
  })
  const exited = once(child, 'close').then(([code, signal]) => {
    ended = true
    wake()
    return { code: code as number | null, signal: signal as NodeJS.Signals | null }
  })
  return {
    child,
    out: () => out,
    err: () => err,
    exited,
    until: async (pattern) => {
      for (;;) {
        const match = pattern.exec(out) ?? pattern.exec(err)
        if (match) return match
        if (ended) throw new Error(`the program ended without ${pattern}:\n${out}${err}`)
        await new Promise<void>((resolve) => watchers.push(resolve))
      }
    },
  }
}

/** Starts it serving and waits until it listens. @returns the program and its address. */
export async function serveProgram(
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<Program & { url: string; admin: string }> {
  const program = runProgram(args, options)
  const [, url, admin] = await program.until(/listens on (http:\S+) \(admin on (http:[^)\s]+)\)/)
  return { ...program, url, admin }
}
