/**
 * The image: small and without a shell; it runs without rights and on a root that cannot be written, as process 1, answers, says that it
 * is healthy and drains; under an engine of root, and under one of a user without rights. That for arm64 holds nothing of
 * another processor, and its program runs in an emulator.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isElf, targetProcessor } from '../../scripts/single-file/executable.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { follow } from '../support/program.ts'
import { buildImage, ENGINE_ENV as ENV, fetchPackages } from './image.ts'
import { FIRST_OF_RANGE, type PlainUser, plainUser } from './plain-user.ts'
import { singleFile } from './single-file.ts'
import { debianForArm, missing, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NAME = `localhost/headgate-test:${process.pid}`
const MAX_BYTES = 150_000_000
const LACKS = lacking(['buildah', 'podman', 'runc', 'dpkg-deb', 'apt-get'])
const KEY = 'sk-router-v1-app-0123456789abcdef'
/** The user of the image. */
const IMAGE_USER = 65_532
/** Takes most of a second. */
const STORY = 'Tell me one. words=40 pace=20ms'

t.setTimeout(900_000)

function lacking(programs: readonly string[]): string | undefined {
  return programs.find((program) => spawnSync('sh', ['-c', `command -v ${program}`], { env: ENV }).status !== 0)
}

function skip(why: string): never {
  console.log(`*** SKIPPED: the image is not tried: ${why} ***`)
  t.plan(0, why)
  process.exit(0)
}

if (LACKS !== undefined) skip(`this machine lacks ${LACKS}`)

const work = mkdtempSync(join(tmpdir(), 'headgate-image-'))
chmodSync(work, 0o755)
const run = (program: string, ...args: string[]): string => execFileSync(program, args, { env: ENV, encoding: 'utf8', cwd: work }).trim()
t.teardown(() => {
  spawnSync('podman', ['rmi', '-f', NAME, `${NAME}-arm64`], { env: ENV })
  rmSync(work, { recursive: true, force: true })
})

const unfetched = fetchPackages(join(work, 'packages'))
if (unfetched !== undefined) skip(`Debian's packages cannot be fetched: ${unfetched}`)
const own = process.arch === 'x64' ? 'amd64' : process.arch
buildImage({ work, name: NAME, architecture: own, program: join(singleFile(), 'headgate'), packages: join(work, 'packages') })

t.test('it is small and has no shell', async (t) => {
  const size = Number(run('podman', 'image', 'inspect', NAME, '--format', '{{.Size}}'))
  t.comment(`the image: ${(size / 1e6).toFixed(1)} MB`)
  t.ok(size < MAX_BYTES, `${size} bytes`)
  t.same(
    readdirSync(join(work, 'root/usr/bin')).filter((name) => /sh$|^apt|^dpkg/.test(name)),
    [],
  )
})

t.test('the Dockerfile says the same', async (t) => {
  const text = readFileSync(join(ROOT, 'deploy/container/Dockerfile'), 'utf8')
  t.match(text, /^USER 65532:65532$/m)
  t.match(text, /^ENTRYPOINT \["\/usr\/bin\/headgate"\]$/m)
  t.match(text, /^HEALTHCHECK .* CMD \["\/usr\/bin\/headgate", "health"\]$/m)
})

interface Engine {
  /** Numbers that no other test takes. */
  readonly port: number
  /** @returns the command of podman with these words. */
  podman(words: readonly string[]): string[]
}

interface Ran {
  readonly status: number | null
  readonly out: string
}

function runOn(engine: Engine, ...words: string[]): Ran {
  const [program = '', ...args] = engine.podman(words)
  const { status, stdout, stderr } = spawnSync(program, args, { env: ENV, encoding: 'utf8', cwd: work })
  return { status, out: `${stdout}${stderr}`.trim() }
}

/** The shipped configuration, on ports of this test. */
function configuration(port: number): string {
  const file = join(work, `headgate-${port}.yaml`)
  const shipped = readFileSync(join(ROOT, 'deploy/container/headgate.yaml'), 'utf8')
  writeFileSync(
    file,
    shipped
      .replace('0.0.0.0, port: 8080', `127.0.0.1, port: ${port}`)
      .replace('port: 8081', `port: ${port + 1}`)
      .replaceAll('catalog/', '/etc/headgate/catalog/'),
  )
  chmodSync(file, 0o644)
  return file
}

/** Field of `/proc/N/status`. */
const pidField = (pid: string, name: string): string | undefined =>
  new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]

/** @param user of the machine as which the program has to run. */
async function serves(t: Test, engine: Engine, user: number): Promise<void> {
  const { port } = engine
  const name = `headgate-test-${port}`
  // The limits of the machine of the tests may be lower than those that an engine sets.
  const limits = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=1024:1024']
  const closed = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--tmpfs', '/tmp', '-v', '/data', ...limits]
  const mounts = ['--mount', `type=bind,src=${configuration(port)},dst=/etc/headgate/headgate.yaml,ro=true`]
  const words = ['run', '--rm', '--name', name, '--network', 'host', ...closed, ...mounts]
  const [program = '', ...args] = engine.podman([...words, '-e', `HEADGATE_APP_KEY=${KEY}`, NAME])
  const running = follow(spawn(program, args, { env: ENV, stdio: ['ignore', 'pipe', 'pipe'], cwd: work }))
  t.teardown(() => void runOn(engine, 'rm', '-f', name))
  const [, url = ''] = await running.until(/listens on (http:\S+)/)
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const ask = (model: string, content: string): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] }),
    })
  t.match(await (await ask('sim/echo', 'Hello')).text(), /Hello[\s\S]*\[DONE\]/)
  const health = ['exec', name, '/usr/bin/headgate', 'health', '--url']
  t.equal(runOn(engine, ...health, `http://127.0.0.1:${port + 1}`).status, 0, 'it is healthy')
  t.equal(runOn(engine, ...health, 'http://127.0.0.1:1').status, 1, 'and says so where it is not')
  t.match(runOn(engine, 'top', name, 'user', 'pid').out, /65532\s+1\b/, 'no root, and process 1')
  const pid = runOn(engine, 'inspect', '--format', '{{.State.Pid}}', name).out
  t.equal(Number(pidField(pid, 'Uid')), user, 'its user on the machine')
  t.match([pidField(pid, 'CapEff'), pidField(pid, 'NoNewPrivs')], ['0000000000000000', '1'], 'without rights, and no way to any')
  t.match(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'), /^\S+ \S+ \S+ \S+ \/ ro\b/m, 'its root cannot be written')
  const open = await ask('sim/story', STORY)
  t.equal(runOn(engine, 'kill', '-s', 'TERM', name).status, 0)
  t.match(await open.text(), /\[DONE\]/, 'what is open ends well')
  const code = await eventually('its end', async () => (await running.exited).code ?? undefined)
  t.equal(code, 0, running.err())
  t.match(running.err(), /draining/)
}

/** A number that no file of this user's other containers has. */
const PORT = 20_000 + 4 * (process.pid % 5_000)

t.test('without rights and on a root that cannot be written it answers, and drains', async (t) => {
  const engine: Engine = { port: PORT, podman: (words) => ['podman', '--runtime', 'runc', ...words] }
  await serves(t, engine, process.getuid?.() === 0 ? IMAGE_USER : FIRST_OF_RANGE)
})

/** An engine without root's rights, with the image in it. @returns what is wrong where there can be none. */
function rootless(t: Test): Engine | string {
  if (process.getuid?.() !== 0) return 'the tests do not run as root: the engine above had no rights of root'
  const lacks = lacking(['unshare', 'setpriv', 'newuidmap'])
  if (lacks !== undefined) return `this machine lacks ${lacks}`
  const folder = join(work, 'plain')
  mkdirSync(folder, { mode: 0o755 })
  const user: PlainUser = plainUser(folder)
  const engine: Engine = { port: PORT + 2, podman: (words) => user.command(['podman', '--runtime', 'runc', ...words]) }
  t.teardown(() => {
    const kept = join(folder, 'run/libpod/tmp/pause.pid')
    if (existsSync(kept)) process.kill(Number(readFileSync(kept, 'utf8')))
  })
  const told = runOn(engine, 'info', '--format', 'rootless={{.Host.Security.Rootless}}')
  if (!told.out.includes('rootless=true')) return told.out.slice(-300)
  const archive = join(work, 'image.tar')
  run('podman', 'save', '-q', '--format', 'oci-archive', '-o', archive, NAME)
  const loaded = runOn(engine, 'load', '-q', '-i', archive)
  if (loaded.status !== 0) throw new Error(loaded.out)
  return engine
}

t.test('under an engine of a user without rights it does the same', async (t) => {
  const engine = rootless(t)
  if (typeof engine === 'string') {
    console.log(`*** SKIPPED: no engine without rights: ${engine} ***`)
    return void t.plan(0, engine)
  }
  await serves(t, engine, FIRST_OF_RANGE + IMAGE_USER - 1)
})

t.test('for arm64 it holds nothing of another processor, and its program runs', async (t) => {
  const [packages, qemu, program] = [debianForArm(), tool('qemu-aarch64-static'), join(singleFile(), 'arm64', 'headgate')]
  if (packages === undefined || !existsSync(program)) return void t.plan(0, missing('what an image for arm64 is made of'))
  const folder = join(work, 'arm64')
  mkdirSync(folder)
  buildImage({ work: folder, name: `${NAME}-arm64`, architecture: 'arm64', program, packages })
  const root = join(folder, 'root')
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const found = files.map((entry) => join(entry.parentPath, entry.name)).filter((path) => isElf(readFileSync(path)))
  t.ok(found.length > 5, `${found.length} executables and libraries`)
  await every(t, 'each is for arm64', (t) => {
    for (const path of found) t.equal(targetProcessor(readFileSync(path)), 'arm64', path)
  })
  const [size, architecture] = run('podman', 'image', 'inspect', `${NAME}-arm64`, '--format', '{{.Size}} {{.Architecture}}').split(' ')
  t.equal(architecture, 'arm64')
  t.comment(`the image for arm64: ${(Number(size) / 1e6).toFixed(1)} MB`)
  if (tool('aarch64-linux-gnu-strip') !== undefined) t.ok(Number(size) < MAX_BYTES, `${size} bytes`)
  if (qemu === undefined) return void t.comment(missing('qemu-aarch64-static'))
  const emulated = (...words: string[]): string => run(qemu, '-L', root, join(root, 'usr/bin/headgate'), ...words)
  t.equal(emulated('--version'), (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version)
  t.match(emulated('providers'), /mistral/, 'with what it has inside')
})
