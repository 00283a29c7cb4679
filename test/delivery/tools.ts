/**
 * Tools that check what stands in `deploy/`, kept outside the checkout, in HEADGATE_TOOLS or a folder of the system's temporary files.
 * `node test/delivery/tools.ts` installs those that are missing, by Go and apt-get, and prints what it could not get; the tests only
 * look for them, since a build of one takes minutes, and skip with a printed reason where one is missing.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const CACHE = process.env.HEADGATE_TOOLS ?? join(tmpdir(), 'headgate-tools')
/** Milliseconds that the build of one tool may take. */
const PATIENCE = 600_000

/** Commands that Go builds: the package and its version. */
const COMMANDS: Readonly<Record<string, readonly [command: string, version: string]>> = {
  helm: ['helm.sh/helm/v3/cmd/helm', 'v3.22.0'],
  kubeconform: ['github.com/yannh/kubeconform/cmd/kubeconform', 'v0.7.0'],
  actionlint: ['github.com/rhysd/actionlint/cmd/actionlint', 'v1.7.12'],
}
/** Modules that are read, not built: the API of Kubernetes 1.37 and the schema of compose files. */
const MODULES: Readonly<Record<string, readonly [module: string, version: string]>> = {
  kubernetes: ['k8s.io/kubernetes', 'v1.37.2'],
  compose: ['github.com/compose-spec/compose-go/v2', 'v2.16.2'],
}

const GO = ['/usr/local/go/bin/go', '/usr/lib/go/bin/go', ...onPath('go')].find((path) => existsSync(path))

function onPath(name: string): string[] {
  return (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
}

function folderOf(name: string): string {
  return join(CACHE, `${name}-${(COMMANDS[name] ?? MODULES[name])?.[1]}`)
}

/** @returns the path of a tool, or undefined where it is missing. */
export function tool(name: string): string | undefined {
  const places = COMMANDS[name] ? [join(folderOf(name), name)] : [join(CACHE, 'bin', name), ...onPath(name)]
  return places.find((path) => existsSync(path))
}

/** @returns a file of a module, or undefined where the module is missing. */
export function moduleFile(name: string, file: string): string | undefined {
  const path = join(folderOf(name), file)
  return existsSync(path) ? path : undefined
}

/** Says loudly that a test is skipped. @returns the reason, for tap. */
export function missing(name: string): string {
  console.log(`*** SKIPPED: ${name} is not there; node test/delivery/tools.ts installs it. ***`)
  return `${name} is not there`
}

function go(args: readonly string[], env: Record<string, string> = {}, cwd = CACHE): string {
  if (GO === undefined) throw new Error('there is no Go')
  return execFileSync(GO, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: PATIENCE,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** The module's own files, linked at their place. */
function download(name: string): void {
  const [module, version] = MODULES[name] ?? []
  const folder = join(CACHE, `.get-${name}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'go.mod'), 'module tools\n')
  const { Dir } = JSON.parse(go(['mod', 'download', '-json', `${module}@${version}`], {}, folder)) as { Dir: string }
  rmSync(folder, { recursive: true })
  execFileSync('ln', ['-sfn', Dir, folderOf(name)])
}

/** promtool of Debian's package, without the package's service. */
function promtool(): void {
  const folder = join(CACHE, '.get-prometheus')
  mkdirSync(folder, { recursive: true })
  execFileSync('apt-get', ['download', 'prometheus'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], timeout: PATIENCE })
  const [file] = globSync('prometheus_*.deb', { cwd: folder })
  if (file === undefined) throw new Error('apt-get downloaded nothing')
  execFileSync('dpkg', ['-x', join(folder, file), folder])
  mkdirSync(join(CACHE, 'bin'), { recursive: true })
  execFileSync('mv', [join(folder, 'usr/bin/promtool'), join(CACHE, 'bin')])
  rmSync(folder, { recursive: true })
}

function get(name: string, install: () => void): void {
  try {
    install()
    console.log(`installed ${name}`)
  } catch (failed) {
    const { stderr, message } = failed as { stderr?: string; message: string }
    console.log(`*** NOT INSTALLED: ${name}. Its tests are SKIPPED. ${(stderr || message).trim().split('\n').at(-1)} ***`)
  }
}

if (import.meta.main) {
  mkdirSync(CACHE, { recursive: true })
  for (const name of Object.keys(MODULES)) if (!existsSync(folderOf(name))) get(name, () => download(name))
  if (tool('promtool') === undefined) get('promtool', promtool)
  for (const [name, [command, version]] of Object.entries(COMMANDS))
    if (tool(name) === undefined) get(name, () => go(['install', '-ldflags', '-s -w', `${command}@${version}`], { GOBIN: folderOf(name) }))
}
