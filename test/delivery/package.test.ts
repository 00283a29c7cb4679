/**
 * The npm package: built twice it is the same, it holds what the program needs and no more, it is installed in an empty folder and answers
 * there, and a plugin that was built against its types in a folder of its own is loaded. A clone installs no more than it needs to run.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { API_VERSION } from '../../src/plugin-api/index.ts'
import { eventually } from '../support/eventually.ts'
import { controlRoom } from './control-room.ts'
import { checkSize } from './sizes.ts'
import { copyCheckout, pack, packedOnce, unreachable } from './tarball.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** Milliseconds for the install. */
const TIMEOUT_MS = 250_000
/** Bytes of the package without what is installed with it, and packages that are installed at most. */
const MAX_BYTES = 14_000_000
const MAX_PACKAGES = 155
/** Bytes of what `npm ci --omit=dev` installs in a clone: with a Node, and without. */
const MAX_INSTALLED = 250_000_000
const MAX_WITHOUT_NODE = 80_000_000

t.setTimeout(TIMEOUT_MS * 3.5)
const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
const fileHash = (file: string): string => createHash('sha512').update(readFileSync(file)).digest('hex')

// Not within the checkout: npm would install there.
const work = mkdtempSync(join(tmpdir(), 'headgate-package-'))
t.teardown(() => rmSync(work, { recursive: true, force: true }))
const first = pack(join(work, 'first'))

t.test('two builds have the same bytes', async (t) => {
  t.equal(fileHash(first.file), fileHash(packedOnce()))
})

t.test('the package holds what the program needs, and no more', async (t) => {
  t.ok(first.unpackedSize < MAX_BYTES, `${first.unpackedSize} bytes`)
  const roots = new Set(first.files.map(({ path }) => path.split('/')[0]))
  t.same([...roots].sort(), ['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'npm-shrinkwrap.json', 'package.json'])
  const dist = new Set(first.files.filter(({ path }) => path.startsWith('dist/')).map(({ path }) => path.split('/')[1]))
  t.same([...dist].filter((name) => name !== undefined).sort(), [
    'THIRD_PARTY_NOTICES',
    'config',
    'package.json',
    'program',
    'sbom.cdx.json',
    'src',
    'web',
  ])
})

t.test('it brings the exact versions of all that is installed with it', async (t) => {
  execFileSync('tar', ['-xzf', first.file, '-C', work, 'package/npm-shrinkwrap.json'])
  const entries = (file: string) => (JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, JsonObject> }).packages
  const versions = (of: Record<string, JsonObject>) =>
    Object.entries(of).flatMap(([path, { dev, version, integrity }]) => (path === '' || dev === true ? [] : [[path, version, integrity]]))
  t.same(versions(entries(join(work, 'package/npm-shrinkwrap.json'))), versions(entries(join(ROOT, 'package-lock.json'))))
})

interface Bill {
  readonly components: readonly {
    readonly 'bom-ref': string
    readonly name: string
    readonly version: string
    readonly hashes: readonly { readonly content: string }[]
  }[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
  readonly metadata: { readonly component: { readonly 'bom-ref': string } }
}

t.test('its bill of materials and its notices list what is installed with it, and nothing else', async (t) => {
  execFileSync('tar', ['-xzf', first.file, '-C', work, 'package'])
  const bill = JSON.parse(readFileSync(join(work, 'package/dist/sbom.cdx.json'), 'utf8')) as Bill
  const lock = JSON.parse(readFileSync(join(work, 'package/npm-shrinkwrap.json'), 'utf8')) as { packages: Record<string, JsonObject> }
  const locked = Object.entries(lock.packages).filter(([path]) => path !== '')
  const sha512 = (integrity: unknown) => Buffer.from(String(integrity).replace('sha512-', ''), 'base64').toString('hex')
  t.same(
    bill.components.map(({ name, version, hashes }) => `${name} ${version} ${hashes[0]?.content}`).sort(),
    locked.map(([path, { version, integrity }]) => `${path.split('node_modules/').at(-1)} ${version} ${sha512(integrity)}`).sort(),
  )
  const references = new Set(bill.components.map((component) => component['bom-ref']))
  t.equal(references.size, bill.components.length, 'references are unique')
  const reached = new Set<string>()
  const reach = (ref: string): void => {
    if (reached.has(ref)) return
    reached.add(ref)
    for (const next of bill.dependencies.find((each) => each.ref === ref)?.dependsOn ?? []) reach(next)
  }
  reach(bill.metadata.component['bom-ref'])
  t.same(
    [...references].filter((ref) => !reached.has(ref)),
    [],
    'each is needed by something',
  )
  const notices = readFileSync(join(work, 'package/dist/THIRD_PARTY_NOTICES'), 'utf8')
  const missing = bill.components.filter(({ name, version }) => !notices.includes(`${name} ${version} (`))
  t.same(missing, [], 'in the notices')
})

const installed = join(work, 'installed')

t.test('it is installed in an empty folder, and answers there', async (t) => {
  mkdirSync(installed)
  const begun = performance.now()
  const npm = ['install', first.file, '--prefer-offline', '--no-audit', '--no-fund']
  let written = ''
  const problem = unreachable(() => {
    const { status, stdout, stderr } = spawnSync('npm', npm, { cwd: installed, encoding: 'utf8', timeout: TIMEOUT_MS })
    written = `${stdout}${stderr}`
    if (status !== 0) throw Object.assign(new Error('npm failed'), { stderr })
  })
  if (problem !== undefined) return skipAll(t, problem)
  t.notMatch(written, /install-scripts|allowScripts/, 'npm warns of no script')
  const modules = join(installed, 'node_modules')
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as { packages: Record<string, JsonObject> }
  const found = new Map(Object.entries(lock.packages).map(([path, { version }]) => [path.split('node_modules/').at(-1), version]))
  t.ok(found.size <= MAX_PACKAGES, `${found.size} packages`)
  t.notOk(found.has('typescript') || found.has('tap'), 'no tools of the tests')
  writeFileSync(join(installed, 'headgate.yaml'), CONFIG)
  const answer = await started(t, installed, async (url, admin) => {
    await controlRoom(t, admin)
    const body = JSON.stringify({ model: 'sim/echo', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    return (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).text()
  })
  t.match(answer, /Hello[\s\S]*data: \[DONE\]/)
  t.comment(`from the tarball to the first streamed answer: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  t.comment(`installed: ${found.size} packages; the package itself ${(first.unpackedSize / 1e6).toFixed(1)} MB`)
  checkSize(t, 'installed', folderBytes(modules))
  const runtime = join(modules, `node-${process.platform}-${process.arch}`)
  if (existsSync(runtime)) {
    checkSize(t, 'installed_node', folderBytes(runtime))
    checkSize(t, 'installed_headers', folderBytes(join(runtime, 'include')))
  }
})

t.test('where Node 24 is there already it is installed without one', async (t) => {
  const folder = join(work, 'without-node')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{}')
  const [, code = ''] = /^```sh no-test: runs in test\/delivery, with Node 24 or newer\n([\s\S]*?)^```$/m.exec(page) ?? []
  const [install = '', run = ''] = code.trim().split('\n')
  t.match(install, / headgate$/)
  const command = `${install.replace(/headgate$/, first.file)} --prefer-offline --loglevel error`
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  const bash = (text: string): string =>
    execFileSync('bash', ['-c', text], { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS })
  const problem = unreachable(() => bash(command))
  if (problem !== undefined) return skipAll(t, problem)
  const size = folderBytes(join(folder, 'node_modules'))
  checkSize(t, 'installed_without_node', size)
  t.ok(size < MAX_WITHOUT_NODE, `${size} bytes`)
  t.match(bash(run), /^\d+\.\d+\.\d+\n$/)
})

const KEY = 'sk-router-v1-app-0123456789abcdef'
const CONFIG = `server: { port: 0 }
admin: { port: 0 }
auth: { keys: [ { name: app, key: ${KEY} } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`

let skipped = false
function skipAll(t: Test, why: string): void {
  skipped = true
  console.log(`*** SKIPPED: the package cannot be installed: ${why} ***`)
  t.plan(0, 'the registry cannot be reached')
}

const PLUGIN = `import { API_VERSION, type Item, type Plugin } from 'headgate/plugin-api'

const greeting: Plugin<{ word: string }> = {
  id: 'greeting',
  apiVersion: API_VERSION,
  parse: ({ word }) => ({ word: String(word ?? 'Welcome') }),
  shape(exchange, { word }) {
    const item: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: word }] }
    exchange.edit('greeting', (draft) => {
      draft.items = [...draft.items, item]
    })
  },
}

export default greeting
`

/** A package beside the configuration, built by its author's compiler against the types of the installed gateway. */
function buildPlugin(folder: string, text = PLUGIN): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@types'), { recursive: true })
  symlinkSync(join(installed, 'node_modules', 'headgate'), join(modules, 'headgate'))
  for (const name of ['@types/node', 'undici-types']) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  const options = { module: 'nodenext', target: 'es2024', strict: true, outDir: 'built', rootDir: '.', types: ['node'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['greeting.ts'] }))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'greeting', type: 'module', exports: './built/greeting.js' }))
  writeFileSync(join(folder, 'greeting.ts'), text)
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8', stdio: ['ignore', 'inherit', 'inherit'] })
  rmSync(modules, { recursive: true })
}

t.test('a plugin package that was built against its types is loaded, and one of another version is refused', async (t) => {
  if (skipped) return void t.plan(0, 'the package is not installed')
  const folder = join(installed, 'node_modules', 'greeting')
  mkdirSync(folder)
  buildPlugin(folder)
  const config = join(installed, 'headgate.yaml')
  writeFileSync(config, `${CONFIG}plugins: { load: [ greeting ], defaults: { greeting: { enabled: true } } }\n`)
  const program = join(installed, 'node_modules', '.bin', 'headgate')
  const check = (): string => {
    try {
      return execFileSync(program, ['check', config], { cwd: installed, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    } catch (failed) {
      return String((failed as { stderr?: string }).stderr)
    }
  }
  t.match(check(), /ok|greeting|models/i)
  t.match(execFileSync(program, ['plugins', '--config', config], { cwd: installed, encoding: 'utf8' }), /greeting/)
  buildPlugin(
    folder,
    PLUGIN.replace('apiVersion: API_VERSION', `apiVersion: ${API_VERSION + 1} as typeof API_VERSION`).replace('as typeof API_VERSION', ''),
  )
  t.match(
    check(),
    new RegExp(`greeting was written for version ${API_VERSION + 1} of headgate/plugin-api: this program has version ${API_VERSION}`),
  )
})

t.test('a clone that only runs installs little', async (t) => {
  const clone = join(work, 'clone')
  copyCheckout(clone)
  const command = /^npm ci --omit=dev.*$/m.exec(page)?.[0] ?? ''
  t.match(command, /^npm ci --omit=dev\b/)
  const words = [
    ...command
      .split(' ')
      .slice(1)
      .filter((word) => !word.startsWith('#') && word !== ''),
    '--prefer-offline',
  ]
  let written = ''
  const problem = unreachable(() => {
    const { status, stdout, stderr } = spawnSync('npm', words, { cwd: clone, encoding: 'utf8', timeout: TIMEOUT_MS })
    written = `${stdout}${stderr}`
    if (status !== 0) throw Object.assign(new Error('npm failed'), { stderr })
  })
  if (problem !== undefined) return skipAll(t, problem)
  t.notMatch(written, /warn/i, 'on an older Node of the machine too, which the install does not need')
  const modules = join(clone, 'node_modules')
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as { packages: JsonObject }
  const packages = Object.keys(lock.packages).length
  const runtime = join(modules, `node-${process.platform}-${process.arch}`)
  const [all, node] = [folderBytes(modules), existsSync(runtime) ? folderBytes(runtime) : 0]
  t.comment(`npm ci --omit=dev: ${packages} packages`)
  checkSize(t, 'clone', all)
  if (node > 0) checkSize(t, 'clone_node', node)
  t.ok(packages <= MAX_PACKAGES, `${packages} packages`)
  t.ok(all < MAX_INSTALLED, `${all} bytes`)
  t.ok(all - node < MAX_WITHOUT_NODE, `${all - node} bytes without Node`)
  t.match(execFileSync('npm', ['run', '--silent', 'start', '--', '--version'], { cwd: clone, encoding: 'utf8' }), /\d+\.\d+/)
})

/** Starts the installed program, uses it, and ends it. */
async function started<T>(t: Test, folder: string, use: (url: string, admin: string) => Promise<T>): Promise<T> {
  const child = spawn(join(folder, 'node_modules', '.bin', 'headgate'), ['serve', '--config', 'headgate.yaml'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  const addresses = await eventually('its addresses', () => /listens on (http:\S+) \(admin on (http:[^\s)]+)/.exec(printed) ?? undefined)
  const used = await use(addresses[1] ?? '', addresses[2] ?? '')
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  t.equal(await ended, 0, 'it ends in peace')
  return used
}

function folderBytes(folder: string): number {
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size)
  return sizes.reduce((sum, size) => sum + size, 0)
}
