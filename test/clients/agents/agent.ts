/** What the runs of coding agents share: a throw-away install and home, and the agent as a process. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Place {
  /** Of the install. */
  readonly root: string
  /** The agent's home: nothing of the user's own settings is read or written. */
  readonly home: string
  /** Where it works. */
  readonly work: string
  remove(): void
}

/** Installs a package without its scripts; HEADGATE_AGENTS names a directory that keeps installs between runs. */
export function installed(name: string, version: string): Place {
  const kept = process.env.HEADGATE_AGENTS
  const temporary = mkdtempSync(join(tmpdir(), 'headgate-agent-'))
  const root = kept ?? temporary
  mkdirSync(root, { recursive: true })
  writeFileSync(join(root, 'package.json'), '{"private":true}')
  execFileSync('npm', ['install', '--ignore-scripts', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', `${name}@${version}`], {
    cwd: root,
    stdio: 'ignore',
  })
  const home = join(temporary, 'home')
  const work = join(temporary, 'work')
  for (const path of [home, work]) mkdirSync(path)
  return { root, home, work, remove: () => rmSync(temporary, { recursive: true, force: true }) }
}

export interface Run {
  code: number | null
  out: string
  err: string
}

/** Runs the agent to its end, in an environment of its own. */
export function run(place: Place, command: string, args: readonly string[], env: Record<string, string>): Promise<Run> {
  const child = spawn(command, [...args], {
    cwd: place.work,
    env: { PATH: process.env.PATH, HOME: place.home, TMPDIR: tmpdir(), LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  })
  const result: Run = { code: null, out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    result.out += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    result.err += chunk.toString()
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ ...result, code }))
  })
}
