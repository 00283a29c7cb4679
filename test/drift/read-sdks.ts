/**
 * The drift sentinel: `npm run drift` installs the SDKs of `sdks.ts` into a temporary folder, reads the names of their types, and fails
 * where they differ from `names.json`, which the tests hold against the decisions in `decisions.ts`. `--newest` reads the newest versions
 * of the registries instead, and fails on a name that has no decision. `--write` writes `names.json`. It needs npm, Python and a network.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPILER, type Kind, PYTHON_SDKS, TYPESCRIPT_SDKS, type Wire } from './sdks.ts'
import { typescriptNames } from './typescript-names.ts'

export type Names = Partial<Record<Wire, Partial<Record<Kind, string[]>>>>

const FILE = join(import.meta.dirname, 'names.json')
const PYTHON = join(import.meta.dirname, 'python_names.py')

/** The names that the repository keeps. */
export const keptNames = (): Names => JSON.parse(readFileSync(FILE, 'utf8')) as Names

/** Puts the names of several SDKs together: a name stands once, whoever has it. */
function joined(parts: readonly { wire: Wire; found: Partial<Record<Kind, string[]>> }[]): Names {
  const names: Names = {}
  for (const { wire, found } of parts) {
    const kinds = names[wire] ?? {}
    names[wire] = kinds
    for (const [kind, words] of Object.entries(found) as [Kind, string[]][])
      kinds[kind] = [...new Set([...(kinds[kind] ?? []), ...words])].sort()
  }
  return names
}

function installed(folder: string, newest: boolean): void {
  const quiet = { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] as ['ignore', 'ignore', 'inherit'] }
  const node = [...new Set(TYPESCRIPT_SDKS.map(({ package: name, version }) => `${name}@${newest ? 'latest' : version}`))]
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  execFileSync(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', `${COMPILER.package}@${COMPILER.version}`, ...node],
    quiet,
  )
  const python = [...new Set(PYTHON_SDKS.map(({ package: name, version }) => (newest ? name : `${name}==${version}`)))]
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--no-deps',
    '--disable-pip-version-check',
    '--no-compile',
    '--target',
    join(folder, 'python'),
    ...python,
  ]
  execFileSync('python3', pip, quiet)
}

function pythonNames(folder: string): { wire: Wire; found: Partial<Record<Kind, string[]>> }[] {
  const wanted = PYTHON_SDKS.flatMap(({ wire, names }) =>
    (Object.keys(names) as Kind[]).flatMap((kind) =>
      (names[kind] ?? []).map((name) => ({ wire, kind, ...name, root: join(folder, 'python') })),
    ),
  )
  const lists = JSON.parse(execFileSync('python3', [PYTHON], { input: JSON.stringify(wanted), encoding: 'utf8' })) as string[][]
  return wanted.map(({ wire, kind, module, name }, index) => {
    const words = lists[index] ?? []
    if (words.length === 0) throw new Error(`${module} has no names in ${name}: look at its types`)
    return { wire, found: { [kind]: words } }
  })
}

function readNames(newest: boolean): Names {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-drift-'))
  try {
    installed(folder, newest)
    const typescript = typescriptNames(folder, TYPESCRIPT_SDKS).map((found, index) => ({
      wire: (TYPESCRIPT_SDKS[index] as { wire: Wire }).wire,
      found,
    }))
    return joined([...typescript, ...pythonNames(folder)])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `wire kind name` of each name of `names` that `others` does not have. */
function missing(names: Names, others: Names): string[] {
  return Object.entries(names).flatMap(([wire, kinds]) =>
    Object.entries(kinds).flatMap(([kind, words]) => {
      const known = new Set(others[wire as Wire]?.[kind as Kind])
      return words.filter((word) => !known.has(word)).map((word) => `${wire} ${kind} ${word}`)
    }),
  )
}

if (import.meta.main) {
  const newest = process.argv.includes('--newest')
  const names = readNames(newest)
  if (process.argv.includes('--write')) writeFileSync(FILE, `${JSON.stringify(names, undefined, 2)}\n`)
  const kept = keptNames()
  const unknown = missing(names, kept)
  // A name that has gone from the newest SDKs may still come from a server; only the pinned ones must be there to the letter.
  const gone = newest ? [] : missing(kept, names)
  for (const name of unknown) console.log(`no table knows: ${name}`)
  for (const name of gone) console.log(`in names.json, in no SDK: ${name}`)
  const count = Object.values(names).flatMap((kinds) => Object.values(kinds).flat()).length
  console.log(`${count} names, ${unknown.length} unknown, ${gone.length} gone`)
  process.exitCode = unknown.length + gone.length > 0 ? 1 : 0
}
