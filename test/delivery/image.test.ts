/**
 * The image, made of Debian's packages without a daemon or a registry: the single file, what it is linked against and the certificates.
 * It runs without rights and on a root that cannot be written, as process 1, answers, says that it is healthy and drains (issue 22).
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { follow } from '../support/program.ts'
import { singleFile } from './single-file.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NAME = `localhost/headgate-test:${process.pid}`
const MOST_BYTES = 150_000_000
/** Of the base of the Dockerfile, as far as the program needs it. */
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates']
const ENV = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', STORAGE_DRIVER: 'vfs' }
const MISSING = missing(['buildah', 'podman', 'runc', 'dpkg-deb', 'apt-get'])
/** A number that no file of this user's other containers has. */
const PORT = 20_000 + (process.pid % 20_000)
const KEY = 'sk-router-v1-app-0123456789abcdef'

t.setTimeout(600_000)

function missing(programs: readonly string[]): string | undefined {
  return programs.find((program) => spawnSync('sh', ['-c', `command -v ${program}`], { env: ENV }).status !== 0)
}

function skip(why: string): never {
  console.log(`*** SKIPPED: the image is not tried: ${why} ***`)
  t.plan(0, why)
  process.exit(0)
}

if (MISSING !== undefined) skip(`this machine lacks ${MISSING}`)

const work = mkdtempSync(join(tmpdir(), 'headgate-image-'))
const run = (program: string, ...args: string[]): string => execFileSync(program, args, { env: ENV, encoding: 'utf8', cwd: work }).trim()
t.teardown(() => {
  spawnSync('podman', ['rmi', '-f', NAME], { env: ENV })
  rmSync(work, { recursive: true, force: true })
})

/** The files of the image, but for the folder of the ledger. */
function rootOf(): string {
  const root = join(work, 'root')
  const got = spawnSync('apt-get', ['download', ...PACKAGES], { env: ENV, cwd: work, encoding: 'utf8' })
  if (got.status !== 0) skip(`Debian's packages cannot be fetched: ${got.stderr.slice(0, 200)}`)
  mkdirSync(root)
  for (const name of readdirSync(work).filter((file) => file.endsWith('.deb'))) run('dpkg-deb', '-x', name, root)
  for (const path of ['usr/share/doc', 'usr/share/lintian', 'usr/sbin', 'sbin']) rmSync(join(root, path), { recursive: true, force: true })
  for (const path of ['usr/bin', 'etc/headgate', 'etc/ssl/certs', 'tmp', 'proc', 'dev', 'sys'])
    mkdirSync(join(root, path), { recursive: true })
  const certificates = join(root, 'usr/share/ca-certificates/mozilla')
  const texts = readdirSync(certificates)
    .sort()
    .map((name) => readFileSync(join(certificates, name), 'utf8'))
  writeFileSync(join(root, 'etc/ssl/certs/ca-certificates.crt'), texts.join(''))
  cpSync(join(singleFile(), 'headgate'), join(root, 'usr/bin/headgate'))
  cpSync(join(ROOT, 'config/catalog'), join(root, 'etc/headgate/catalog'), { recursive: true })
  cpSync(join(ROOT, 'deploy/container/headgate.yaml'), join(root, 'etc/headgate/headgate.yaml'))
  return root
}

/** As the last stage of the Dockerfile has it. */
function build(): void {
  const root = rootOf()
  mkdirSync(join(work, 'data'))
  const container = run('buildah', 'from', 'scratch')
  run('buildah', 'add', '-q', container, root, '/')
  run('buildah', 'add', '-q', '--chown', '65532:65532', container, join(work, 'data'), '/data')
  const settings = ['--user', '65532:65532', '--workingdir', '/data', '--stop-signal', 'SIGTERM', '--port', '8080']
  run(
    'buildah',
    'config',
    ...settings,
    '--entrypoint',
    '["/usr/bin/headgate"]',
    '--cmd',
    'serve --config /etc/headgate/headgate.yaml',
    container,
  )
  run('buildah', 'commit', '-q', container, NAME)
  run('buildah', 'rm', container)
}

build()

t.test('it is small and has no shell', async (t) => {
  const size = Number(run('podman', 'image', 'inspect', NAME, '--format', '{{.Size}}'))
  t.comment(`the image: ${(size / 1e6).toFixed(1)} MB`)
  t.ok(size < MOST_BYTES, `${size} bytes`)
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

t.test('without rights and on a root that cannot be written it answers, and drains', async (t) => {
  const config = readFileSync(join(ROOT, 'deploy/container/headgate.yaml'), 'utf8')
  const file = join(work, 'headgate.yaml')
  writeFileSync(
    file,
    config
      .replace('0.0.0.0, port: 8080', `127.0.0.1, port: ${PORT}`)
      .replace('port: 8081', `port: ${PORT + 1}`)
      .replaceAll('catalog/', '/etc/headgate/catalog/'),
  )
  chmodSync(file, 0o644)
  chmodSync(work, 0o755)
  const name = `headgate-test-${process.pid}`
  // The limits of the machine of the tests may be lower than those that an engine sets.
  const limits = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=1024:1024']
  const closed = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--tmpfs', '/tmp', '-v', '/data', ...limits]
  const mounts = ['--mount', `type=bind,src=${file},dst=/etc/headgate/headgate.yaml,ro=true`, '-e', `HEADGATE_APP_KEY=${KEY}`]
  const words = ['--runtime', 'runc', 'run', '--rm', '--name', name, '--network', 'host', ...closed, ...mounts, NAME]
  const running = follow(spawn('podman', words, { env: ENV, stdio: ['ignore', 'pipe', 'pipe'] }))
  t.teardown(() => void spawnSync('podman', ['--runtime', 'runc', 'rm', '-f', name], { env: ENV }))
  const [, url = ''] = await running.until(/listens on (http:\S+)/)
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const ask = (model: string): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
    })
  t.match(await (await ask('sim/echo')).text(), /Hello[\s\S]*\[DONE\]/)
  const health = ['--runtime', 'runc', 'exec', name, '/usr/bin/headgate', 'health', '--url']
  t.equal(spawnSync('podman', [...health, `http://127.0.0.1:${PORT + 1}`], { env: ENV }).status, 0, 'it is healthy')
  t.equal(spawnSync('podman', [...health, 'http://127.0.0.1:1'], { env: ENV }).status, 1, 'and says so where it is not')
  t.match(run('podman', 'top', name, 'user', 'pid'), /65532\s+1\b/, 'no root, and process 1')
  run('podman', '--runtime', 'runc', 'kill', '-s', 'TERM', name)
  const code = await eventually('its end', async () => (await running.exited).code ?? undefined)
  t.equal(code, 0, running.err())
  t.match(running.err(), /draining/)
})
