/**
 * The Debian package under a systemd that runs: installing it starts the service, which has no rights, takes a key of its environment and
 * a reload, comes back after a crash, drains when it is stopped, and goes with the package. The systemd is process 1 of a
 * container.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { debianRoot } from './debian-root.ts'
import { ENGINE_ENV } from './image.ts'
import { singleFile } from './single-file.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NAME = `headgate-systemd-${process.pid}`
/** Users that systemd makes while a service runs (systemd.exec(5), DynamicUser=). */
const [FIRST_DYNAMIC, LAST_DYNAMIC] = [61_184, 65_519]
const KEY = 'sk-router-v1-service-0123456789'
const LACKS = ['podman', 'runc', 'mmdebstrap', 'dpkg-deb'].find(
  (program) => spawnSync('which', [program], { env: ENGINE_ENV }).status !== 0,
)

t.setTimeout(900_000)
const work = mkdtempSync(join(tmpdir(), 'headgate-systemd-'))
const root = join(work, 'root')
const engine = (...words: string[]): string[] => ['--runtime', 'runc', ...words]
const LIMITS = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=1024:1024']

t.teardown(() => {
  spawnSync('podman', engine('rm', '-f', '-t', '0', NAME), { env: ENGINE_ENV, timeout: 60_000 })
  rmSync(work, { recursive: true, force: true })
})

function skip(why: string): never {
  console.log(`*** SKIPPED: the service is not tried under a systemd: ${why} ***`)
  t.plan(0, why)
  process.exit(0)
}

if (LACKS !== undefined || process.getuid?.() !== 0) skip(`this machine lacks ${LACKS ?? 'the rights of root'}`)
const problem = debianRoot('bookworm-systemd', root)
if (problem !== undefined) skip(problem)

/** A command in the container. @returns its output; its end in failure is an error unless `mayFail`. */
function inside(words: readonly string[], mayFail = false): string {
  const { status, stdout, stderr } = spawnSync('podman', engine('exec', NAME, ...words), { env: ENGINE_ENV, encoding: 'utf8' })
  if (status !== 0 && !mayFail) throw new Error(`${words.join(' ')}: ${stdout}${stderr}`)
  return stdout.trim()
}

const property = (name: string): string => inside(['systemctl', 'show', '--property', name, '--value', 'headgate'])
const [port = 0, admin = 0] = await freePorts(2)
const url = `http://127.0.0.1:${port}`

/** The shipped configuration, on ports of this test. */
function configure(more = ''): void {
  const shipped = readFileSync(join(ROOT, 'deploy/systemd/headgate.yaml'), 'utf8')
  mkdirSync(join(root, 'etc/headgate'), { recursive: true })
  const text = shipped.replace('port: 8080', `port: ${port}`).replace('port: 8081', `port: ${admin}`)
  writeFileSync(join(root, 'etc/headgate/headgate.yaml'), text + more)
}

async function ready(): Promise<void> {
  await eventually('readiness', async () => (await fetch(`http://127.0.0.1:${admin}/readyz`).catch(() => undefined))?.status === 200)
}

function ask(key: string, content: string, model = 'sim/echo'): Promise<Response> {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
}

const args = [join(ROOT, 'scripts/build-deb.ts'), '--single-file', singleFile(), '--out', work]
copyFileSync(execFileSync(process.execPath, args, { encoding: 'utf8' }).trim(), join(root, 'headgate.deb'))
configure()
const started = engine('run', '--rm', '--name', NAME, '--privileged', '--systemd=always', ...LIMITS, '--network', 'host', '--rootfs', root)
const container = spawn('podman', [...started, '/sbin/init'], { env: ENGINE_ENV, stdio: 'ignore' })
await eventually('its systemd', () => {
  if (container.exitCode !== null) skip('no systemd runs in a container here')
  return inside(['systemctl', 'is-system-running'], true) === 'running'
})

t.test('installing the package starts the service, without rights', async (t) => {
  inside(['dpkg', '--force-confold', '--install', '/headgate.deb'])
  await ready()
  t.same([property('ActiveState'), property('UnitFileState')], ['active', 'enabled'])
  t.match(await (await ask('sk-router-v1-dev', 'Hello')).text(), /Hello[\s\S]*\[DONE\]/, 'it answers with the published key of tries')
  const pid = property('MainPID')
  const status = inside(['cat', `/proc/${pid}/status`])
  const user = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1])
  t.ok(user >= FIRST_DYNAMIC && user <= LAST_DYNAMIC, `user ${user}`)
  t.match(status, /^CapEff:\s+0+$/m)
  t.match(status, /^NoNewPrivs:\s+1$/m)
  t.match(status, /^Seccomp:\s+2$/m)
  t.match(inside(['cat', `/proc/${pid}/mountinfo`]), /^\S+ \S+ \S+ \S+ \/ ro\b/m, 'the root cannot be written')
  t.match(inside(['stat', '-c', '%a %u', '/var/lib/private/headgate']), `700 ${user}`)
  t.match(inside(['journalctl', '--unit', 'headgate', '--no-pager']), `headgate listens on ${url}`)
})

t.test('a key of the environment that only root reads is taken, and a reload takes a change', async (t) => {
  writeFileSync(join(root, 'etc/headgate/environment'), `APP_KEY=${KEY}\n`, { mode: 0o600 })
  const auth = (name: string) => `auth: { keys: [ { name: ${name}, key: "\${APP_KEY}" } ] }\n`
  configure(auth('app'))
  inside(['systemctl', 'restart', 'headgate'])
  await ready()
  t.match(await (await ask(KEY, 'Hello')).text(), /Hello[\s\S]*\[DONE\]/)
  t.equal((await ask('sk-router-v1-dev', 'Hello')).status, 401, 'and the only one')
  configure(auth('renamed'))
  inside(['systemctl', 'reload', 'headgate'])
  const unitName = async () =>
    ((await (await fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${KEY}` } })).json()) as { data: { name: string } }).data.name
  await eventually('the change', async () => (await unitName()) === 'renamed')
  t.equal(property('NRestarts'), '0')
})

t.test('it comes back after a crash', async (t) => {
  const before = property('MainPID')
  inside(['systemctl', 'kill', '--signal', 'KILL', 'headgate'])
  await eventually('another process', () => ![before, '0'].includes(property('MainPID')))
  await ready()
  t.equal(property('NRestarts'), '1')
  t.equal((await ask(KEY, 'Hello')).status, 200)
})

t.test('stopping it ends what is open well, and with the package it goes', async (t) => {
  const open = await ask(KEY, 'Tell me one. words=40 pace=20ms', 'sim/story')
  inside(['systemctl', 'stop', 'headgate'])
  t.match(await open.text(), /\[DONE\]/)
  t.same([property('Result'), property('ExecMainStatus')], ['success', '0'])
  t.match(inside(['journalctl', '--unit', 'headgate', '--no-pager']), /draining 1 open exchange/)
  inside(['systemctl', 'start', 'headgate'])
  await ready()
  inside(['dpkg', '--purge', 'headgate'])
  t.equal(property('ActiveState'), 'inactive')
  t.equal(property('LoadState'), 'not-found')
})
