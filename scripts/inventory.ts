/**
 * Packages that are installed with the program: the bill of materials (CycloneDX 1.6, JSON) and the licence notices, both from the lock file, so
 * that two builds write the same. `npm sbom --package-lock-only` of npm 11.19 leaves out a third of the packages of this lock file, and
 * writes the time and a random number.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface LockEntry {
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly optional?: boolean
  readonly dev?: boolean
  readonly os?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface LockFile {
  readonly name: string
  readonly version: string
  readonly packages: Readonly<Record<string, LockEntry>>
}

interface Installed extends LockEntry {
  readonly path: string
  readonly name: string
  readonly purl: string
}

const MODULES = 'node_modules/'
/** Names of SPDX for what packages write otherwise. */
const SPDX: Readonly<Record<string, string>> = { BSD: 'BSD-2-Clause' }

/** Packages that the program needs, without the tools of a checkout. */
function installed(lock: LockFile): Installed[] {
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, entry]) => {
      const name = path.slice(path.lastIndexOf(MODULES) + MODULES.length)
      return { ...entry, path, name, purl: `pkg:npm/${name.replace('@', '%40')}@${entry.version}` }
    })
    .sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** The paths of what a package needs: in its own folder, else in those above, as Node looks it up. */
function needs(lock: LockFile, path: string): string[] {
  const { dependencies, optionalDependencies } = lock.packages[path] ?? {}
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(`/${MODULES}`)))) {
      const found = folder === '' ? `${MODULES}${name}` : `${folder}/${MODULES}${name}`
      if (lock.packages[found]) return [found]
      if (folder === '') return []
    }
  })
}

function licences(license: string | undefined): object[] {
  if (license === undefined) return []
  if (license.startsWith('(')) return [{ expression: license.slice(1, -1) }]
  return [{ license: { id: SPDX[license] ?? license } }]
}

/** @returns the bill of materials as JSON. */
export function billOfMaterials(lock: LockFile, licence: string): object {
  const root = { type: 'application', name: lock.name, version: lock.version, purl: `pkg:npm/${lock.name}@${lock.version}` }
  const packages = installed(lock)
  const reference = new Map(packages.map(({ path, purl }) => [path, `${purl}#${path}`]))
  const edges = (path: string): string[] => needs(lock, path).flatMap((need) => reference.get(need) ?? [])
  const components = packages.map(({ path, name, version, purl, integrity, license, optional }) => ({
    'bom-ref': reference.get(path),
    type: 'library',
    name,
    version,
    scope: optional === true ? 'optional' : 'required',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity?.replace('sha512-', '') ?? '', 'base64').toString('hex') }],
    licenses: licences(license),
    purl,
  }))
  const digest = createHash('sha256').update(JSON.stringify(components)).digest('hex')
  const serial = [digest.slice(0, 8), digest.slice(8, 12), `5${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`, digest.slice(20, 32)]
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${serial.join('-')}`,
    version: 1,
    metadata: { component: { 'bom-ref': root.purl, ...root, licenses: [{ license: { id: licence } }] } },
    components,
    dependencies: [
      { ref: root.purl, dependsOn: edges('') },
      ...packages.map(({ path }) => ({ ref: reference.get(path), dependsOn: edges(path) })),
    ],
  }
}

function licenceTexts(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name))
  return names.sort().map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
}

/**
 * Licence notices of all that is installed with the program; equal texts stand once.
 * @param root a folder in which the packages are installed.
 */
export function licenceNotices(lock: LockFile, root: string): string {
  const texts = new Map<string, string[]>()
  const packages = installed(lock)
  for (const { name, version, license, path, os } of packages) {
    // A package for one system is not installed on the others, and the notices must not depend on the machine.
    const found = os === undefined ? licenceTexts(join(root, path)) : []
    const text = found.length > 0 ? found.join('\n\n') : `Licence: ${license}. The package has no text of it.`
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const parts = [...texts].map(([text, names]) => `${[...new Set(names)].join('\n')}\n\n${text}\n`)
  const line = `\n${'-'.repeat(78)}\n\n`
  return `headgate uses these ${packages.length} packages, which are installed with it.\n${line}${parts.join(line)}`
}
