/** A copy of the committed tree in which mutations are set and test files run. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Range, Reached } from './cover.ts'
import type { Mutation } from './mutation.ts'

/** Seconds that a test file may take without a mutation. */
const LONGEST = 180
/** Seconds that one may take with a mutation, beyond three times what it takes without: one that hangs is caught. */
const MARGIN_SECONDS = 20

interface Script {
  url: string
  functions: { ranges: Range[] }[]
}

export class Copy {
  private readonly folder: string
  private readonly tree: string
  private changed: { path: string; text: string } | undefined

  constructor(root: string) {
    this.folder = mkdtempSync(join(tmpdir(), 'headgate-mutations-'))
    this.tree = join(this.folder, 'tree')
    execFileSync('git', ['clone', '--quiet', root, this.tree])
    symlinkSync(join(root, 'node_modules'), join(this.tree, 'node_modules'))
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  set({ file, line, before, after }: Mutation): void {
    const path = join(this.tree, file)
    const text = readFileSync(path, 'utf8')
    const lines = text.split('\n')
    const whole = lines[line - 1]
    if (whole?.trim() !== before) throw new Error(`${file}:${line} is not committed as it stands`)
    lines[line - 1] = whole.replace(before, () => after)
    this.changed = { path, text }
    writeFileSync(path, lines.join('\n'))
  }

  restore(): void {
    if (this.changed) writeFileSync(this.changed.path, this.changed.text)
    this.changed = undefined
  }

  /** @param seconds that it takes without a mutation. */
  async passes(file: string, seconds: number): Promise<boolean> {
    return this.run(file, seconds * 3 + MARGIN_SECONDS)
  }

  /** @returns the seconds that a test file takes without a mutation; undefined where it fails by itself. */
  async secondsAlone(file: string): Promise<number | undefined> {
    const started = performance.now()
    return (await this.run(file, LONGEST)) ? (performance.now() - started) / 1000 : undefined
  }

  async coverage(file: string): Promise<Reached> {
    const into = join(this.folder, 'coverage')
    const started = performance.now()
    const passed = await this.run(file, LONGEST, { NODE_V8_COVERAGE: into })
    const seconds = (performance.now() - started) / 1000
    const ranges = new Map<string, Range[][]>()
    const prefix = `${pathToFileURL(this.tree).href}/`
    for (const name of readdirSync(into)) {
      for (const { url, functions } of readScripts(join(into, name))) {
        const path = url.slice(prefix.length)
        if (!url.startsWith(prefix) || !/^(src|plugins)\//.test(path)) continue
        const own = functions.flatMap((one) => one.ranges)
        const before = ranges.get(path)
        if (before) before.push(own)
        else ranges.set(path, [own])
      }
    }
    rmSync(into, { recursive: true, force: true })
    return { seconds, passed, ranges }
  }

  /** Runs one test file, which is a plain script. @returns true where it ends in time and well. */
  private run(file: string, seconds: number, env: NodeJS.ProcessEnv = {}): Promise<boolean> {
    return new Promise((resolve) => {
      const child = spawn(process.execPath, ['--no-warnings', file], {
        cwd: this.tree,
        stdio: 'ignore',
        // A group of its own, so that what it started ends with it.
        detached: true,
        // The timer below ends it, not tap's own.
        env: { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: '3600', ...env },
      })
      const timer = setTimeout(() => kill(child.pid), seconds * 1000)
      child.on('exit', (code) => {
        clearTimeout(timer)
        kill(child.pid)
        resolve(code === 0)
      })
    })
  }
}

/** A process that was killed leaves a file that ends early: what it reached is not known. */
function readScripts(path: string): Script[] {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { result: Script[] }).result
  } catch {
    return []
  }
}

function kill(group: number | undefined): void {
  try {
    if (group !== undefined) process.kill(-group, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
