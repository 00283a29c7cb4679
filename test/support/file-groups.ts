/** Which test files run in one process, one after another: those that change nothing which all files of a process share. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Files of one process: enough that loading the sources is a small part of its time, few enough that the processors end together. */
const FILES = 10

/** Files that change or measure the whole process: its environment, its globals, its memory, its processor time, its modules. */
const SHARED = [
  /\bprocess\.(env(\.\w+|\[[^\]]+\])? = |env = |chdir|memoryUsage|cpuUsage|resourceUsage|on\(|once\(|exit\(|exitCode|argv\b)/,
  /\bObject\.assign\((process\.env|globalThis)\b/,
  /\b(globalThis\.\w+ = |setGlobalDispatcher|setFlagsFromString|registerHooks|diagnostics_channel|eventLoopUtilization)/,
  /\.prototype\.\w+ = /,
]
const IMPORTS = /^(?:import|export)[^'"]*?from '(\.[^']*)'/gm

/** Puts files together, in their order; those that have to run alone come first. */
export class FileGroups {
  private readonly root: string
  private readonly known = new Map<string, boolean>()

  constructor(root: string) {
    this.root = root
  }

  /** @param alone true for a file that runs alone for another reason. */
  of(files: readonly string[], alone: (file: string) => boolean): string[][] {
    const single = new Set(files.filter((file) => alone(file) || this.changesProcess(file)))
    const rest = files.filter((file) => !single.has(file))
    const groups = Array.from({ length: Math.ceil(rest.length / FILES) }, (_, index) => rest.slice(index * FILES, (index + 1) * FILES))
    return [...[...single].map((file) => [file]), ...groups]
  }

  /** True where a file, or what it imports from the tests, changes or measures the process. */
  private changesProcess(file: string): boolean {
    const before = this.known.get(file)
    if (before !== undefined) return before
    // A circle of imports ends here.
    this.known.set(file, false)
    const path = join(this.root, file)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const imported = [...text.matchAll(IMPORTS)].map(([, from]) => normalize(join(dirname(file), from)).replaceAll('\\', '/'))
    const found = SHARED.some((one) => one.test(text)) || imported.some((one) => one.startsWith('test/') && this.changesProcess(one))
    this.known.set(file, found)
    return found
  }
}
