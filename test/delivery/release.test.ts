/** The release workflow as far as it can run without publishing: `npm run release:dry-run`, and what it makes. Long: it builds all of it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import t from 'tap'
import { LONG } from '../support/seed.ts'
import { missing, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const OUT = join(ROOT, 'dist/release')
const SCRIPT = join(ROOT, 'scripts/release.ts')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

t.setTimeout(900_000)

const release = (...words: string[]) => spawnSync(process.execPath, [SCRIPT, ...words], { encoding: 'utf8' })

t.test('a tag of another version is refused with all that differs', async (t) => {
  const { status, stderr } = release('check', '--tag', 'v9.9.9')
  t.equal(status, 1)
  t.match(stderr, new RegExp(`the tag is v9\\.9\\.9, package\\.json has ${version}`))
  const missing = new RegExp(`CHANGELOG\\.md has no section \\[${version}\\]`)
  const isWritten = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').includes(`\n## [${version}]`)
  if (!isWritten) t.match(stderr, missing, 'notes are written before a release')
})

t.test('all of a release is made in a copy of the checkout', { skip: LONG ? false : 'long: it builds everything' }, async (t) => {
  if (process.getuid?.() !== 0 || spawnSync('dpkg-deb', ['--version']).status !== 0) return void t.plan(0, 'needs dpkg-deb')
  const before = readFileSync(join(ROOT, 'package.json'), 'utf8')
  const helm = tool('helm')
  const PATH = [...(helm === undefined ? [] : [dirname(helm)]), process.env.PATH].join(delimiter)
  const printed = execFileSync('npm', ['run', '--silent', 'release:dry-run'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, PATH },
  })
  t.match(printed, /Only the workflow itself can do: /)
  t.equal(readFileSync(join(ROOT, 'package.json'), 'utf8'), before, 'the checkout is as it was')
  const files = readdirSync(OUT)
  const packed = `headgate-${version}.tgz`
  const single = `headgate-${version}-linux-${process.arch}`
  for (const name of [packed, single, 'SHA256SUMS', 'sbom.cdx.json', 'THIRD_PARTY_NOTICES', 'notes.md']) t.ok(files.includes(name), name)
  const deb = files.find((name) => name.endsWith('.deb')) ?? ''
  t.equal(execFileSync('dpkg-deb', ['--field', join(OUT, deb), 'Version'], { encoding: 'utf8' }).trim(), version)
  t.equal(execFileSync(join(OUT, single), ['--version'], { encoding: 'utf8' }).trim(), version)
  execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: OUT })
  t.equal(readFileSync(join(OUT, 'SHA256SUMS'), 'utf8').split('\n').length, 4, 'of the package, the file and the Debian package')
  const manifest = execFileSync('tar', ['-xzOf', join(OUT, packed), 'package/package.json'], { encoding: 'utf8' })
  t.match(JSON.parse(manifest), { version, repository: { type: 'git', url: 'git+https://git.example/headgate/headgate.git' } })
  t.ok(readFileSync(join(OUT, 'notes.md'), 'utf8').length > 100)
  if (helm === undefined) return void t.comment(missing('helm'))
  const chart = join(OUT, 'chart', packed)
  t.ok(existsSync(chart))
  t.match(
    execFileSync('tar', ['-xzOf', chart, 'headgate/values.yaml'], { encoding: 'utf8' }),
    /^ {2}repository: registry\.example\/headgate\/headgate$/m,
  )
})
