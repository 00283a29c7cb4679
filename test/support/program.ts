/** The program as people start it: a process of its own, watched through its output. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { CHECKOUT_LAUNCHER, LAUNCHER } from './launcher.ts'

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
  /** Flags of Node itself. What they preload finds the sources: a program that has any runs from them. */
  nodeFlags?: readonly string[]
  /** In place of the one that the run of all tests has built. */
  launcher?: string
}

/**
 * Command and arguments that run a script under this very Node, as people do.
 * What a debugger or a profiler adds by NODE_OPTIONS to the Node of the tests is not for the program.
 */
export function plainNode(args: readonly string[]): [command: string, args: string[]] {
  return ['env', ['-u', 'NODE_OPTIONS', process.execPath, ...args]]
}

/** Runs the launcher with these arguments. */
export function runProgram(args: readonly string[], options: ProgramOptions = {}): Program {
  const env = { PATH: process.env.PATH, ...options.env }
  const launcher = options.launcher ?? (options.nodeFlags ? CHECKOUT_LAUNCHER : LAUNCHER)
  return follow(
    spawn(...plainNode([...(options.nodeFlags ?? []), launcher, ...args]), { cwd: options.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
}

/** Watches a process that has been started, its output and its end. */
export function follow(child: ChildProcessByStdio<null, Readable, Readable>): Program {
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
  const [, url = '', admin = ''] = await program.until(/listens on (https?:\S+) \(admin on (https?:[^)\s]+)\)/)
  return { ...program, url, admin }
}
