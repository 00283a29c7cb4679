/** One process with all its children: its output is bounded, and it is killed whole. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Readable, Writable } from 'node:stream'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Argv } from './argv.ts'
import { groupHoldsMore } from './group-memory.ts'
import { ENVIRONMENT } from './program.ts'

export interface Ran {
  stdout: string
  stderr: string
  /** As a shell reports it: 128 and the number of the signal that ended it. */
  exitCode: number
  /** Why it was killed, if it was. */
  killed?: 'time' | 'output' | 'disk' | 'memory' | 'gone'
}

export interface ProcessBounds {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Milliseconds. */
  readonly time: number
  /** Bytes shown of each stream. */
  readonly output: number
  /** Called every second; true ends the process. */
  readonly tooBig?: () => Promise<boolean>
  /** Bytes of memory that it and all that it has started may hold together, with the files in these folders. */
  readonly memory?: { readonly bytes: number; readonly folders: readonly string[] } | undefined
}

/** A process that writes so many times the output shown is killed. */
const FLOOD = 64
/** Milliseconds between looks at the folder, and for output to come after the end. */
const LOOK = 1_000
const LOOK_AT_MEMORY = 200
const LAST_WORDS = 250

const KILLED = 137

/** @throws Error where it cannot be started. */
export function runProcess(argv: Argv, bounds: ProcessBounds): Promise<Ran> {
  return new Run(argv, bounds).done
}

class Run {
  readonly done: Promise<Ran>
  private readonly child: ChildProcess
  private readonly bounds: ProcessBounds
  private readonly streams: { stdout: Bounded; stderr: Bounded }
  private killed: Ran['killed']
  private over = false
  private memoryLook: Timer | undefined
  private readonly takeBack: (() => void)[] = []

  constructor({ words: [program, ...rest], user, filter }: Argv, bounds: ProcessBounds) {
    this.bounds = bounds
    const { promise, resolve, reject } = Promise.withResolvers<Ran>()
    this.done = promise
    this.child = spawn(program, rest, {
      cwd: '/',
      env: ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'pipe', ...(filter ? ['pipe' as const] : [])],
      // Its own group, which is killed as one.
      detached: true,
      ...(user === undefined ? {} : { uid: user, gid: user }),
    })
    const filterPipe = this.child.stdio[3]
    // Where the program ends before it has read the filter, its exit says so.
    if (filterPipe instanceof Writable) filterPipe.on('error', () => {}).end(filter)
    const flood = (): void => this.kill('output')
    this.streams = {
      stdout: new Bounded(this.child.stdout, bounds.output, flood),
      stderr: new Bounded(this.child.stderr, bounds.output, flood),
    }
    this.child.on('error', (error) => {
      this.end()
      reject(error)
    })
    this.child.on('exit', (code, signal) => this.exited(code ?? (signal ? KILLED : 1), resolve))
    this.watch()
  }

  private watch(): void {
    const { clock, signal, time, tooBig, memory } = this.bounds
    const timer = clock.after(time, () => this.kill('time'))
    const gone = (): void => this.kill('gone')
    signal.addEventListener('abort', gone, { once: true })
    this.takeBack.push(
      () => timer.cancel(),
      () => signal.removeEventListener('abort', gone),
    )
    if (signal.aborted) gone()
    if (tooBig) this.look(tooBig)
    if (memory) {
      this.lookAtMemory(memory)
      this.takeBack.push(() => this.memoryLook?.cancel())
    }
  }

  private lookAtMemory(memory: NonNullable<ProcessBounds['memory']>): void {
    const { pid } = this.child
    this.memoryLook = this.bounds.clock.after(LOOK_AT_MEMORY, () => {
      if (this.over || pid === undefined) return
      if (groupHoldsMore(pid, memory.bytes, memory.folders)) this.kill('memory')
      else this.lookAtMemory(memory)
    })
  }

  private look(tooBig: () => Promise<boolean>): void {
    const timer = this.bounds.clock.after(LOOK, () => {
      tooBig().then(
        (big) => {
          if (this.over) return
          if (big) this.kill('disk')
          else this.look(tooBig)
        },
        () => this.kill('disk'),
      )
    })
    this.takeBack.push(() => timer.cancel())
  }

  private kill(why: NonNullable<Ran['killed']>): void {
    if (this.over) return
    this.killed ??= why
    const { pid, exitCode, signalCode } = this.child
    // A child of bwrap requests to die with its parent some time after it was started. Where bwrap is killed before, it would go on.
    const started = pid === undefined || exitCode !== null || signalCode !== null ? [] : stopAndListChildren(pid)
    this.killGroup()
    for (const each of started) signalTo(each, 'SIGKILL')
  }

  private killGroup(): void {
    const { pid } = this.child
    if (pid !== undefined) signalTo(-pid, 'SIGKILL')
  }

  /** Kills the processes that it started; does not wait for a pipe that another process holds open. */
  private exited(exitCode: number, resolve: (ran: Ran) => void): void {
    this.killGroup()
    const { clock } = this.bounds
    const report = (): void => {
      if (this.over) return
      this.end()
      const { stdout, stderr } = this.streams
      resolve({ stdout: stdout.text(), stderr: stderr.text(), exitCode, ...(this.killed ? { killed: this.killed } : {}) })
    }
    const timer = clock.after(LAST_WORDS, report)
    this.child.on('close', () => {
      timer.cancel()
      report()
    })
  }

  private end(): void {
    this.over = true
    for (const undo of this.takeBack) undo()
    this.child.stdout?.destroy()
    this.child.stderr?.destroy()
  }
}

function signalTo(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    // No such process, or none of the group, is left.
    return false
  }
}

/** Looks until a process that was stopped has stopped; each takes some ten microseconds. */
const MAX_LOOKS = 100

/**
 * Stops a process, so that it starts no others, and lists its children, in sessions of their own as well. Theirs are not needed: the
 * child of bwrap is the first process of its namespace, with which all others of it end (pid_namespaces(7)).
 * Empty where the kernel does not list children (`/proc/PID/task/TID/children`, proc(5)).
 */
function stopAndListChildren(pid: number): number[] {
  if (!signalTo(pid, 'SIGSTOP')) return []
  try {
    for (let looks = 0; looks < MAX_LOOKS && !isStopped(pid); looks++);
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** True also for one that has ended. */
function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const state = stat[stat.lastIndexOf(')') + 2]
  return state !== undefined && 'TtZX'.includes(state)
}

/** The beginning of a stream; the rest is read and thrown away, up to a point. */
class Bounded {
  private readonly chunks: Buffer[] = []
  private readonly most: number
  private kept = 0
  private seen = 0

  constructor(stream: Readable | null, most: number, flood: () => void) {
    this.most = most
    stream?.on('error', () => {})
    stream?.on('data', (chunk: Buffer) => {
      this.seen += chunk.length
      const taken = chunk.subarray(0, most - this.kept)
      if (taken.length > 0) this.chunks.push(Buffer.from(taken))
      this.kept += taken.length
      if (this.seen > most * FLOOD) flood()
    })
  }

  text(): string {
    const text = Buffer.concat(this.chunks).toString('utf8')
    return this.seen > this.kept ? `${text}\n[cut off after ${this.most} bytes]` : text
  }
}
