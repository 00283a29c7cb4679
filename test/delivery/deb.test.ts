/**
 * The Debian package: two builds have the same bytes, it is installed in a root that has nothing but Debian's essential packages, its
 * program serves there, its unit is valid and well closed, and it goes without a trace but for what was configured.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { targetProcessor } from '../../scripts/single-file/executable.ts'
import { follow } from '../support/program.ts'
import { debianRoot } from './debian-root.ts'
import { singleFile } from './single-file.ts'
import { missing as missingTool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const UNIT = join(ROOT, 'deploy/systemd/headgate.service')
/** Milliseconds for all of it; the clean root alone takes minutes on a busy machine. */
const TIMEOUT_MS = 900_000
const MAX_BYTES = 60_000_000
/** Of `systemd-analyze security`, from 0 (all closed) to 10. */
const MAX_EXPOSED = 1.5
const PATHS = '/usr/sbin:/usr/bin:/sbin:/bin'
/** Programs and rights without which nothing of this can be tried. */
const MISSING = missing(['dpkg-deb', 'systemd-analyze', 'mmdebstrap']) ?? (process.getuid?.() === 0 ? undefined : 'the rights of root')

t.setTimeout(TIMEOUT_MS)

function missing(programs: readonly string[]): string | undefined {
  return programs.find((program) => spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: PATHS } }).status !== 0)
}

if (MISSING !== undefined) {
  console.log(`*** SKIPPED: the Debian package is not tried: this machine lacks ${MISSING} ***`)
  t.plan(0, `lacks ${MISSING}`)
  process.exit(0)
}

const work = mkdtempSync(join(tmpdir(), 'headgate-deb-test-'))
t.teardown(() => rmSync(work, { recursive: true, force: true }))
const single = singleFile()

function build(out: string, from = single): string {
  const args = [join(ROOT, 'scripts/build-deb.ts'), '--single-file', from, '--out', join(work, out)]
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim()
}

const deb = build('first')

t.test('two builds have the same bytes', async (t) => {
  t.ok(readFileSync(deb).equals(readFileSync(build('second'))))
  const { length } = readFileSync(deb)
  t.ok(length < MAX_BYTES, `${(length / 1e6).toFixed(1)} MB`)
  t.comment(`the Debian package: ${(length / 1e6).toFixed(1)} MB`)
})

t.test('of a single file for arm64 it is one for arm64', async (t) => {
  const folder = join(single, 'arm64')
  if (!existsSync(folder)) return void t.plan(0, missingTool('a Node for arm64'))
  const built = build('arm64', folder)
  t.match(built, /_arm64\.deb$/)
  t.equal(execFileSync('dpkg-deb', ['--field', built, 'Architecture'], { encoding: 'utf8' }).trim(), 'arm64')
  const tree = join(work, 'arm64-tree')
  execFileSync('dpkg-deb', ['-x', built, tree])
  t.equal(targetProcessor(readFileSync(join(tree, 'usr/lib/headgate/headgate'))), 'arm64')
})

t.test('the unit is valid and closes what the service does not need', async (t) => {
  // Its program is not on this machine: the line about that is the only one.
  const { stderr } = spawnSync('systemd-analyze', ['verify', UNIT], { encoding: 'utf8' })
  const lines = stderr.split('\n').filter((line) => line.includes('headgate') && !line.includes('is not executable'))
  t.same(lines, [])
  const printed = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', UNIT], { encoding: 'utf8' }).stdout
  const score = Number(/exposure level for headgate\.service: ([\d.]+)/.exec(printed)?.[1])
  t.comment(`systemd-analyze security: ${score} (0 is closed, 10 open)`)
  t.ok(score <= MAX_EXPOSED, `${score}`)
})

t.test('it is installed in a clean root, serves there, and is removed', async (t) => {
  const root = join(work, 'root')
  const problem = debianRoot('bookworm', root)
  if (problem !== undefined) {
    console.log(`*** SKIPPED: no clean root: ${problem} ***`)
    return void t.plan(0, 'no clean root')
  }
  const env = { PATH: PATHS, DEBIAN_FRONTEND: 'noninteractive' }
  const inside = (...words: string[]): string => execFileSync('chroot', [root, ...words], { encoding: 'utf8', env })
  cpSync(deb, join(root, 'headgate.deb'))
  inside('dpkg', '-i', '/headgate.deb')
  t.match(inside('dpkg', '-s', 'headgate'), 'install ok installed')
  t.equal(inside('headgate', '--version').trim(), '0.1.0')
  t.match(inside('headgate', 'check', '/etc/headgate/headgate.yaml'), /ok|good|models/i)
  t.match(readFileSync(join(root, 'etc/headgate/environment'), 'utf8'), /^HEADGATE_DEV_KEY=sk-app-[0-9a-f]{56}\n$/)
  const config = readFileSync(join(root, 'etc/headgate/headgate.yaml'), 'utf8').replace(/port: 808\d/g, 'port: 0')
  writeFileSync(join(root, 'etc/headgate/free.yaml'), config)
  const running = follow(
    spawn('chroot', [root, 'headgate', 'serve', '--config', '/etc/headgate/free.yaml'], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
  t.teardown(() => running.child.kill('SIGKILL'))
  const [, url = ''] = await running.until(/listens on (http:\S+)/)
  t.equal((await fetch(`${url}/v1/models`)).status, 401, 'it answers')
  running.child.kill('SIGTERM')
  t.equal((await running.exited).code, 0)
  writeFileSync(join(root, 'etc/headgate/headgate.yaml'), `# mine\n${config}`)
  inside('dpkg', '--remove', 'headgate')
  t.match(readFileSync(join(root, 'etc/headgate/headgate.yaml'), 'utf8'), /^# mine/, 'what was configured stays')
  inside('dpkg', '--purge', 'headgate')
  const left = ['usr/bin/headgate', 'usr/lib/headgate', 'lib/systemd/system/headgate.service']
  left.push('etc/headgate/headgate.yaml', 'etc/headgate/environment')
  t.same(
    left.filter((path) => existsSync(join(root, path))),
    [],
    'nothing is left',
  )
  t.ok(existsSync(join(root, 'var/lib/headgate/headgate.db')), 'but the ledger')
})
