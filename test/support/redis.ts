/** A Redis or Valkey of a test's own: on a free port, with nothing on disk, gone when the test is. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { freePorts } from './crash/configuration.ts'

export interface RedisServer {
  readonly url: string
  /** Ends it in its own way. */
  stop(): Promise<void>
  /** Ends it without a word. */
  kill(): Promise<void>
  /** Starts it again on the same port, empty. */
  start(): Promise<void>
  /** Connections stay and nothing is answered any more, until `resume`. */
  pause(): void
  resume(): void
  /** Ends it for good. */
  close(): Promise<void>
}

const PROGRAMS = ['redis-server', 'valkey-server']

/** The server as a shell's child: when the test's process goes, however it goes, its end of the pipe closes and the server dies. */
const GUARD = 'exec 3<&0; "$@" & pid=$!; echo "pid $pid"; { cat <&3; kill -9 $pid; } >/dev/null 2>&1 & wait $pid'

interface Living {
  readonly shell: ChildProcessByStdio<Writable, Readable, Readable>
  readonly pid: number
  readonly gone: Promise<unknown>
}

/** @returns undefined where neither program is found, after saying so loudly. */
export async function startRedis({
  password,
  more = [],
}: {
  password?: string
  more?: readonly string[]
} = {}): Promise<RedisServer | undefined> {
  const program = await installed()
  if (program === undefined) {
    if (process.env.HEADGATE_TEST_SERVERS === 'required')
      throw new Error('Redis is not installed, and HEADGATE_TEST_SERVERS says that it must be')
    console.error('!!! SKIPPED: neither redis-server nor valkey-server is installed; what processes share through it is NOT tested')
    return undefined
  }
  const directory = mkdtempSync(join(tmpdir(), 'headgate-redis-'))
  const [port] = await freePorts(1)
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', directory]
  if (password !== undefined) args.push('--requirepass', password)
  args.push(...more)
  let living: Living | undefined = await begin(program, args)
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!living) return
    const { pid, gone, shell } = living
    living = undefined
    process.kill(pid, signal)
    await gone
    shell.stdin.end()
  }
  const signal = (name: NodeJS.Signals): void => {
    if (living) process.kill(living.pid, name)
  }
  return {
    url: `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    start: async () => {
      living ??= await begin(program, args)
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    close: async () => {
      await end('SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function installed(): Promise<string | undefined> {
  for (const program of PROGRAMS) {
    const child = spawn(program, ['--version'], { stdio: 'ignore' })
    const found = await new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(false))
      child.once('exit', (code) => resolve(code === 0))
    })
    if (found) return program
  }
  return undefined
}

async function begin(program: string, args: readonly string[]): Promise<Living> {
  const shell = spawn('sh', ['-c', GUARD, 'sh', program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  shell.stdin.on('error', () => {})
  const gone = once(shell, 'exit')
  let out = ''
  await new Promise<void>((resolve, reject) => {
    shell.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      if (/ready to accept connections/i.test(out)) resolve()
    })
    gone.then(() => reject(new Error(`${program} ended before it was ready:\n${out}`)), reject)
  })
  const pid = Number(/^pid (\d+)$/m.exec(out)?.[1])
  return { shell, pid, gone }
}
