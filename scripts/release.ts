/**
 * Steps of the release workflow for a tag, so that the same can be tried without publishing anything:
 *
 * - `node scripts/release.ts check --tag v1.2.3`: the tag, the package, the chart and the changelog name one version.
 * - `node scripts/release.ts package --tag v1.2.3 --page URL --out FOLDER`: the npm package, the single file, the Debian package, their
 *   bill of materials, licence notices and checksums, and the notes of the release. The package names URL as its repository, since npm
 *   refuses a statement of provenance for a package that names another one (docs.npmjs.com, generating provenance statements).
 * - `node scripts/release.ts chart --image NAME --out FOLDER`: the chart, which pulls the image NAME. Needs helm.
 * - `npm run release:dry-run`: all of it in a copy of this checkout, with what npm would publish; it is kept in `dist/release`.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const CHART = join(ROOT, 'deploy/helm/headgate')
const SUMS = 'SHA256SUMS'
/** The line of the chart's values that a release changes: a clone builds an image of this name itself. */
const OWN_IMAGE = /^ {2}repository: headgate$/m

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { tag: { type: 'string' }, page: { type: 'string' }, out: { type: 'string' }, image: { type: 'string' } },
})

function needed(name: keyof typeof values): string {
  const value = values[name]
  if (value === undefined) throw new Error(`--${name}: expected a value`)
  return value
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const packageVersion = (): string => (JSON.parse(read('package.json')) as { version: string }).version

/** The text of the changelog under the heading of a version, or of what is not released yet. */
function releaseNotes(heading: string): string | undefined {
  const sections = read('CHANGELOG.md').split(/^## /m)
  return sections
    .find((text) => text.startsWith(`[${heading}]`))
    ?.replace(/.*\n/, '')
    .trim()
}

/** @throws Error that names what differs. */
function check(tag: string): void {
  const version = packageVersion()
  const chart = read('deploy/helm/headgate/Chart.yaml')
  const problems = [
    tag === `v${version}` ? [] : `the tag is ${tag}, package.json has ${version}`,
    ...['version', 'appVersion'].map((field) =>
      chart.split('\n').includes(`${field}: ${version}`) ? [] : `${field} of Chart.yaml is not ${version}`,
    ),
    (releaseNotes(version) ?? '') === ''
      ? `CHANGELOG.md has no section [${version}]: move what is under [Unreleased] there, with the date`
      : [],
  ].flat()
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

function run(command: string, words: readonly string[], folder = ROOT): void {
  execFileSync(command, words, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
}

function makePackage(notes: string, page: string, out: string): void {
  mkdirSync(out, { recursive: true })
  run('npm', ['pkg', 'set', 'repository.type=git', `repository.url=git+${page}.git`, `homepage=${page}#readme`, `bugs.url=${page}/issues`])
  run('npm', ['run', 'build:deb'])
  const dist = join(ROOT, 'dist')
  cpSync(join(dist, 'single-file/headgate'), join(out, `headgate-${packageVersion()}-linux-${process.arch}`))
  for (const name of readdirSync(dist)) if (name.endsWith('.deb')) cpSync(join(dist, name), join(out, name))
  // Builds anew what the package holds, so the two above come first.
  run('npm', ['pack', '--pack-destination', out])
  for (const name of ['sbom.cdx.json', 'THIRD_PARTY_NOTICES']) cpSync(join(dist, name), join(out, name))
  writeFileSync(join(out, 'notes.md'), `${notes}\n`)
  const summed = readdirSync(out).filter((name) => name.startsWith('headgate') && name !== SUMS)
  const sums = summed.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(out, name)))
        .digest('hex')}  ${name}\n`,
  )
  writeFileSync(join(out, SUMS), sums.join(''))
}

function makeChart(image: string, out: string): void {
  const copy = join(mkdtempSync(join(tmpdir(), 'headgate-chart-')), basename(CHART))
  try {
    cpSync(CHART, copy, { recursive: true })
    const file = join(copy, 'values.yaml')
    const text = readFileSync(file, 'utf8')
    mkdirSync(out, { recursive: true })
    if (!OWN_IMAGE.test(text)) throw new Error('values.yaml of the chart: expected "repository: headgate" under image')
    writeFileSync(file, text.replace(OWN_IMAGE, `  repository: ${image}`))
    run('helm', ['lint', copy])
    run('helm', ['package', copy, '--destination', out])
  } finally {
    rmSync(dirname(copy), { recursive: true })
  }
}

/** Runs this script in a copy of the files that git knows, as the workflow does in a clone of the tag. */
function tryOut(): void {
  const work = mkdtempSync(join(tmpdir(), 'headgate-release-'))
  const copy = join(work, 'checkout')
  const out = join(ROOT, 'dist/release')
  const page = 'https://git.example/headgate/headgate'
  const tag = `v${packageVersion()}`
  const say = (text: string): void => console.log(`\n== ${text}`)
  try {
    const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
    for (const name of tracked.split('\0').filter((name) => name !== '' && existsSync(join(ROOT, name)))) {
      mkdirSync(dirname(join(copy, name)), { recursive: true })
      cpSync(join(ROOT, name), join(copy, name))
    }
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    // As the commit of a release has it.
    const changelog = join(copy, 'CHANGELOG.md')
    if (releaseNotes(packageVersion()) === undefined)
      writeFileSync(
        changelog,
        read('CHANGELOG.md').replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${packageVersion()}] - 2026-01-01\n`),
      )
    rmSync(out, { recursive: true, force: true })
    const script = join(copy, 'scripts/release.ts')
    say(`check --tag ${tag}`)
    run(process.execPath, [script, 'check', '--tag', tag], copy)
    say('package')
    run(process.execPath, [script, 'package', '--tag', tag, '--page', page, '--out', out], copy)
    say('npm publish --dry-run')
    const [tarball = ''] = readdirSync(out).filter((name) => name.endsWith('.tgz'))
    run('npm', ['publish', join(out, tarball), '--dry-run', '--access', 'public'], work)
    if (spawnSync('helm', ['version']).status === 0) {
      say('chart')
      run(process.execPath, [script, 'chart', '--image', 'registry.example/headgate/headgate', '--out', join(out, 'chart')], copy)
    } else console.log(`*** SKIPPED: the chart is not packed: there is no helm ***`)
    console.log(`\nIn ${out}: ${readdirSync(out).join(', ')}`)
    console.log('Only the workflow itself can do: statements of provenance, signatures, the image for two processors, and publishing.')
  } finally {
    rmSync(work, { recursive: true })
  }
}

const [verb = ''] = positionals
if (verb === 'check') check(needed('tag'))
else if (verb === 'package') {
  check(needed('tag'))
  makePackage(releaseNotes(packageVersion()) ?? '', needed('page'), resolve(needed('out')))
} else if (verb === 'chart') makeChart(needed('image'), resolve(needed('out')))
else if (verb === 'dry-run') tryOut()
else throw new Error(`${verb || 'nothing'}: expected check, package, chart or dry-run`)
