/**
 * `node scripts/audit.ts`: whether the packages that are installed with the program follow the policy of SECURITY.md. Without a network it
 * looks at the lock file: where each package comes from, its hash, scripts, its licence, and whether its author has given it up. With one it
 * has npm compare the advisories, of which high and critical ones fail, and the registry's signatures. Where the registry serves neither it
 * says so, and does not fail.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

interface Advisory {
  readonly source: number
  readonly name: string
  readonly title: string
  readonly url: string
  readonly severity: string
}

interface Exception {
  readonly reason: string
  /** A date, from which on it is a problem again. */
  readonly until: string
}

/** Advisories that do not apply here, by their number. */
const ADVISORIES: Readonly<Record<number, Exception>> = {}
const FAILS = ['high', 'critical']
/** Packages that their authors have given up and that are still needed, by name. */
const GIVEN_UP: Readonly<Record<string, Exception>> = {}
/** Licences that let a program of any licence use and pass on the package. */
const LICENCES: ReadonlySet<string> = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'Zlib'])
/** Licences that a package states in other words than SPDX's. */
const READ_AS: Readonly<Record<string, string>> = {
  // duck 0.1.12, a part of mammoth: the text in the package has the two clauses.
  BSD: 'BSD-2-Clause',
}
/** Tools of development that would run a script at their install. `allowScripts` of package.json lets none of them. */
const SCRIPTS: ReadonlySet<string> = new Set(['esbuild'])

export interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly license?: string
  readonly deprecated?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
}

const isExcused = (exception: Exception | undefined, today: string): boolean => exception !== undefined && today <= exception.until

/** @returns what of a lock file is against the policy, in words. */
export function lockProblems(packages: Readonly<Record<string, LockedPackage>>, today: string): string[] {
  return Object.entries(packages).flatMap(([path, entry]) => (path === '' ? [] : packageProblems(path, entry, today)))
}

function packageProblems(path: string, entry: LockedPackage, today: string): string[] {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const { version = '', resolved, integrity = '', license = '', deprecated, hasInstallScript, dev } = entry
  const problems: string[] = []
  if (!/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version)) problems.push(`version ${version || 'missing'}, expected one of a registry`)
  // The lock file has no addresses of the registry (.npmrc): one that is there leads elsewhere.
  if (resolved !== undefined) problems.push('it does not come from the registry')
  if (!integrity.startsWith('sha512-')) problems.push('no hash of SHA-512')
  if (hasInstallScript && !(dev && SCRIPTS.has(name))) problems.push('it runs a script at its install')
  if (dev) return problems.map((problem) => `${name}: ${problem}`)
  if (!isFree(license)) problems.push(`licence ${license || 'missing'}`)
  if (deprecated !== undefined && !isExcused(GIVEN_UP[name], today)) problems.push(`its author has given it up: ${deprecated}`)
  return problems.map((problem) => `${name}: ${problem}`)
}

/** An expression of SPDX without nesting: one of several, or all of them. */
function isFree(expression: string): boolean {
  const words = expression.replaceAll(/[()]/g, '')
  const isKnown = (licence: string): boolean => LICENCES.has(READ_AS[licence] ?? licence)
  return words.includes(' AND ') ? words.split(' AND ').every(isKnown) : words.split(' OR ').some(isKnown)
}

/** @param report what `npm audit --json` printed. @returns a line for each advisory, and whether any fails. */
export function judge(report: string, today: string): { lines: string[]; failed: boolean } {
  const { vulnerabilities } = JSON.parse(report) as { vulnerabilities?: Record<string, { via: readonly (Advisory | string)[] }> }
  if (vulnerabilities === undefined) return { lines: ['*** NOT AUDITED: the registry serves no advisories. ***'], failed: false }
  const all = Object.values(vulnerabilities).flatMap(({ via }) => via.filter((each) => typeof each !== 'string'))
  const unique = [...new Map(all.map((each) => [each.source, each])).values()]
  const failing = unique.filter(({ source, severity }) => {
    return FAILS.includes(severity) && !isExcused(ADVISORIES[source], today)
  })
  const lines = unique.map(({ name, severity, title, url }) => `${severity}: ${name}: ${title} ${url}`)
  return { lines: [...lines, `${unique.length} advisories, ${failing.length} against the policy`], failed: failing.length > 0 }
}

/** @param stdout of `npm audit signatures --json` (npm 11.19.1, lib/utils/verify-signatures.js). @returns a line, and whether a signature is wrong or missing. */
export function judgeSignatures(stdout: string): { lines: string[]; failed: boolean } {
  const { invalid, missing } = parsed<{ invalid?: readonly { name: string; version: string }[]; missing?: readonly { name: string }[] }>(
    stdout,
  )
  if (invalid === undefined || missing === undefined) {
    return { lines: ['*** NOT VERIFIED: the registry serves no keys of signatures. ***'], failed: false }
  }
  const lines = [
    ...invalid.map(({ name }) => `${name}: its signature is wrong`),
    ...missing.map(({ name }) => `${name}: it has no signature`),
  ]
  return { lines: [...lines, `${lines.length} packages without a good signature`], failed: lines.length > 0 }
}

function parsed<T>(stdout: string): T {
  try {
    return JSON.parse(stdout) as T
  } catch {
    return {} as T
  }
}

/** Without tries that would make a gate wait where there is no network. */
function npm(...args: readonly string[]): string {
  const all = ['audit', ...args, '--json', '--fetch-retries=0', '--fetch-timeout=30000']
  return spawnSync('npm', all, { cwd: ROOT, encoding: 'utf8', timeout: 120_000 }).stdout.trim() || '{}'
}

if (import.meta.main) {
  const today = new Date().toISOString().slice(0, 10)
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, LockedPackage> }
  const problems = lockProblems(packages, today)
  const advisories = judge(npm('--omit', 'dev', '--package-lock-only'), today)
  const signatures = judgeSignatures(npm('signatures'))
  const count = Object.keys(packages).length - 1
  for (const line of [
    ...problems,
    `${count} packages in the lock file, ${problems.length} problems`,
    ...advisories.lines,
    ...signatures.lines,
  ])
    console.log(line)
  process.exitCode = problems.length > 0 || advisories.failed || signatures.failed ? 1 : 0
}
