/**
 * Builds the Debian package: `node scripts/build-deb.ts --single-file FOLDER --out FOLDER`. The first folder has what
 * `scripts/build-single-file.ts` made; the package is for the processor of that file. Two builds of the same file have the same bytes:
 * the only time in it is that of the release in `SOURCE_DATE_EPOCH` (reproducible-builds.org/specs/source-date-epoch), by default
 * 2026-01-01.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { targetProcessor } from './single-file/executable.ts'

const ROOT = join(import.meta.dirname, '..')
const EPOCH = process.env.SOURCE_DATE_EPOCH ?? '1767225600'
/** Debian's names of processors. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

interface Manifest {
  readonly version: string
  readonly description: string
}

function build(singleFile: string, out: string): string {
  const { version, description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
  const file = join(singleFile, 'headgate')
  const architecture = ARCHITECTURES[targetProcessor(readFileSync(file)) ?? '']
  if (architecture === undefined) throw new Error(`${file}: expected an executable of Linux for x64 or arm64`)
  const tree = mkdtempSync(join(tmpdir(), 'headgate-deb-'))
  try {
    chmodSync(tree, 0o755)
    fill(tree, singleFile)
    const size = Number(execFileSync('du', ['-sk', '--apparent-size', tree], { encoding: 'utf8' }).split('\t')[0])
    control(tree, { version, description, architecture, size })
    execFileSync('find', [tree, '-exec', 'touch', '-h', '-d', `@${EPOCH}`, '{}', '+'])
    mkdirSync(out, { recursive: true })
    const built = join(out, `headgate_${version}_${architecture}.deb`)
    const env = { ...process.env, SOURCE_DATE_EPOCH: EPOCH }
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z9', '--build', tree, built], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return built
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

/** Files that are installed. */
function fill(tree: string, singleFile: string): void {
  const put = (from: string, to: string, mode = 0o644): void => {
    const path = join(tree, to)
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
    copyFileSync(from, path)
    chmodSync(path, mode)
  }
  put(join(singleFile, 'headgate'), 'usr/lib/headgate/headgate', 0o755)
  mkdirSync(join(tree, 'usr/bin'))
  symlinkSync('../lib/headgate/headgate', join(tree, 'usr/bin/headgate'))
  cpSync(join(ROOT, 'config/catalog'), join(tree, 'usr/lib/headgate/catalog'), { recursive: true })
  put(join(ROOT, 'deploy/systemd/headgate.service'), 'lib/systemd/system/headgate.service')
  put(join(ROOT, 'deploy/systemd/headgate.yaml'), 'etc/headgate/headgate.yaml')
  put(join(ROOT, 'LICENSE'), 'usr/share/doc/headgate/copyright')
  put(join(singleFile, 'licences.txt'), 'usr/share/doc/headgate/licences.txt')
  put(join(ROOT, 'README.md'), 'usr/share/doc/headgate/README.md')
  cpSync(join(ROOT, 'docs'), join(tree, 'usr/share/doc/headgate/docs'), { recursive: true })
  put(join(ROOT, 'CHANGELOG.md'), 'usr/share/doc/headgate/CHANGELOG.md')
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree])
}

interface Facts extends Manifest {
  readonly architecture: string
  /** Kilobytes. */
  readonly size: number
}

/** Fields that dpkg reads (deb-control(5)). */
function control(tree: string, { version, description, architecture, size }: Facts): void {
  const folder = join(tree, 'DEBIAN')
  mkdirSync(folder)
  const fields = {
    Package: 'headgate',
    Version: version,
    Architecture: architecture,
    Maintainer: 'headgate maintainers <maintainers@headgate.invalid>',
    'Installed-Size': size,
    // What Node is linked against; init-system-helpers enables the service.
    Depends: 'libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8)',
    Recommends: 'init-system-helpers',
    Suggests: 'bubblewrap',
    Section: 'net',
    Priority: 'optional',
    Description: `${description.replace(/^A /, '').replace(/\.$/, '')}\n One executable with its runtime, a service of systemd and its configuration.`,
  }
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`)
  writeFileSync(join(folder, 'control'), text.join(''))
  writeFileSync(join(folder, 'conffiles'), '/etc/headgate/headgate.yaml\n')
  for (const name of readdirSync(join(ROOT, 'deploy/debian'))) {
    copyFileSync(join(ROOT, 'deploy/debian', name), join(folder, name))
    chmodSync(join(folder, name), 0o755)
  }
}

const { values } = parseArgs({ options: { 'single-file': { type: 'string' }, out: { type: 'string' } } })
const singleFile = resolve(values['single-file'] ?? join(ROOT, 'dist/single-file'))
console.log(build(singleFile, resolve(values.out ?? join(ROOT, 'dist'))))
