import t from 'tap'
import { every } from '../support/every.ts'
import { read } from './source-tree.ts'

interface LockEntry {
  version?: string
  resolved?: string
  integrity?: string
  hasInstallScript?: boolean
  dev?: boolean
  devOptional?: boolean
  link?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

interface Lock {
  lockfileVersion: number
  packages: Record<string, LockEntry>
}

interface Manifest {
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

for (const folder of ['', 'test/clients/']) {
  const name = folder === '' ? 'the project' : folder
  const lock = JSON.parse(read(`${folder}package-lock.json`)) as Lock
  const manifest = JSON.parse(read(`${folder}package.json`)) as Manifest
  const direct = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }

  t.test(`${name}: the lock file names no registry`, async (t) => {
    t.ok(Object.keys(lock.packages).length > 1, 'there are packages')
    t.notMatch(read(`${folder}package-lock.json`), /"resolved":/)
    t.match(read(`${folder}.npmrc`), /^omit-lockfile-registry-resolved=true$/m)
    const bare = Object.entries(lock.packages).filter(([path, entry]) => path !== '' && !entry.link && !entry.integrity)
    t.same(bare, [], 'every package has its checksum')
  })

  t.test(`${name}: everything that a package names is locked`, async (t) => {
    /** Node looks in the package itself and then in every folder above. */
    const locked = (path: string, dependency: string): boolean => {
      const folders =
        path === '' ? [] : path.split('/node_modules/').map((_, index, parts) => parts.slice(0, index + 1).join('/node_modules/'))
      return ['', ...folders.map((folder) => `${folder}/`)].some((folder) => lock.packages[`${folder}node_modules/${dependency}`])
    }
    const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
        .filter((dependency) => !locked(path, dependency))
        .map((dependency) => `${path || 'the project'} → ${dependency}`),
    )
    t.same(missing, [], 'or npm ci would refuse the lock file')
  })

  t.test(`${name}: direct versions are exact`, async (t) => {
    t.ok(Object.keys(direct).length > 0, 'there are dependencies')
    await every(t, 'every case', async (t) => {
      for (const [dependency, version] of Object.entries(direct)) {
        t.match(version, EXACT, dependency)
        t.equal(lock.packages[`node_modules/${dependency}`]?.version, version, `${dependency} is locked at that version`)
      }
    })
  })
}

t.test('no runtime dependency has an install script', async (t) => {
  const { packages } = JSON.parse(read('package-lock.json')) as Lock
  const runtime = Object.entries(packages).filter(([path, entry]) => path !== '' && !entry.dev)
  t.ok(runtime.length > 10, 'runtime packages were found')
  t.same(
    runtime.filter(([, entry]) => entry.hasInstallScript).map(([path]) => path),
    [],
  )
})

t.test('every dependency has its sentence in docs/dependencies.md', async (t) => {
  const text = read('docs/dependencies.md')
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read('package.json')) as Manifest
  const direct = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  await every(t, 'every name', async (t) => {
    for (const name of direct) t.ok(text.includes(`\`${name}\``), name)
  })
  const apart = ['test/clients', 'bench/peers/portkey'].flatMap((folder) =>
    Object.keys((JSON.parse(read(`${folder}/package.json`)) as Manifest).dependencies ?? {}),
  )
  const told = [...text.matchAll(/^- ((?:`[^`]+`(?:, | and )?)+)/gm)].flatMap(([, list]) =>
    [...list.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  )
  t.same(
    told.filter((name) => ![...direct, ...apart].includes(name)),
    [],
    'and no other has one',
  )
  t.same(
    apart.filter((name) => !text.includes(`\`${name}\``)),
    [],
    'those that are installed apart have theirs',
  )
})
