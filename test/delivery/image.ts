/** The image, made of Debian's packages without a daemon or a registry, as the last stage of the Dockerfile has it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { IMAGE_PACKAGES } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
export const ENGINE_ENV = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', STORAGE_DRIVER: 'vfs' }
const SETTINGS = ['--user', '65532:65532', '--workingdir', '/data', '--stop-signal', 'SIGTERM', '--port', '8080']
const PROGRAM = ['--entrypoint', '["/usr/bin/headgate"]', '--cmd', 'serve --config /etc/headgate/headgate.yaml']

interface ImageSource {
  /** An empty folder for what is made on the way; `root` in it is the root of the image. */
  readonly work: string
  readonly name: string
  /** As Debian and images name it. */
  readonly architecture: string
  /** The single file. */
  readonly program: string
  /** Folder of Debian's packages. */
  readonly packages: string
}

/** Debian's packages for this machine. @returns what is wrong where they cannot be fetched. */
export function fetchPackages(to: string): string | undefined {
  mkdirSync(to, { recursive: true })
  const got = spawnSync('apt-get', ['download', ...IMAGE_PACKAGES], { env: ENGINE_ENV, cwd: to, encoding: 'utf8' })
  return got.status === 0 ? undefined : got.stderr.slice(0, 200)
}

export function buildImage(source: ImageSource): void {
  const { work, name, architecture } = source
  const run = (...words: string[]): string => execFileSync('buildah', words, { env: ENGINE_ENV, encoding: 'utf8', cwd: work }).trim()
  const root = fillRoot(source)
  mkdirSync(join(work, 'data'))
  const container = run('from', 'scratch')
  run('add', '-q', container, root, '/')
  run('add', '-q', '--chown', '65532:65532', container, join(work, 'data'), '/data')
  run('config', '--arch', architecture, ...SETTINGS, ...PROGRAM, container)
  run('commit', '-q', container, name)
  run('rm', container)
}

/** The files of the image, but for the folder of the ledger. */
function fillRoot({ work, program, packages }: ImageSource): string {
  const root = join(work, 'root')
  mkdirSync(root)
  for (const name of readdirSync(packages).filter((file) => file.endsWith('.deb')))
    execFileSync('dpkg-deb', ['-x', join(packages, name), root], { env: ENGINE_ENV })
  for (const path of ['usr/share/doc', 'usr/share/lintian', 'usr/sbin', 'sbin']) rmSync(join(root, path), { recursive: true, force: true })
  for (const path of ['usr/bin', 'etc/headgate', 'etc/ssl/certs', 'tmp', 'proc', 'dev', 'sys'])
    mkdirSync(join(root, path), { recursive: true })
  const certificates = join(root, 'usr/share/ca-certificates/mozilla')
  const texts = readdirSync(certificates)
    .sort()
    .map((name) => readFileSync(join(certificates, name), 'utf8'))
  writeFileSync(join(root, 'etc/ssl/certs/ca-certificates.crt'), texts.join(''))
  cpSync(program, join(root, 'usr/bin/headgate'))
  cpSync(join(ROOT, 'config/catalog'), join(root, 'etc/headgate/catalog'), { recursive: true })
  cpSync(join(ROOT, 'deploy/container/headgate.yaml'), join(root, 'etc/headgate/headgate.yaml'))
  return root
}
