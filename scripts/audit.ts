/**
 * `node scripts/audit.ts`: known problems of the packages that are installed with the program, by npm's advisories. SECURITY.md has the
 * policy: high and critical ones fail. Where the registry serves no advisories it says so, and does not fail.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

interface Advisory {
  readonly source: number
  readonly name: string
  readonly title: string
  readonly url: string
  readonly severity: string
}

/** Advisories that do not apply here: the number of each, why, and until when. */
const EXCEPTIONS: readonly { readonly source: number; readonly reason: string; readonly until: string }[] = []
const FAILS = ['high', 'critical']

/** @param report what `npm audit --json` printed. @returns a line for each advisory, and whether any fails. */
export function judge(report: string, today: string): { lines: string[]; failed: boolean } {
  const { vulnerabilities } = JSON.parse(report) as { vulnerabilities?: Record<string, { via: readonly (Advisory | string)[] }> }
  if (vulnerabilities === undefined) return { lines: ['*** NOT AUDITED: the registry serves no advisories. ***'], failed: false }
  const all = Object.values(vulnerabilities).flatMap(({ via }) => via.filter((each) => typeof each !== 'string'))
  const unique = [...new Map(all.map((each) => [each.source, each])).values()]
  const failing = unique.filter(({ source, severity }) => {
    const exception = EXCEPTIONS.find((each) => each.source === source)
    return FAILS.includes(severity) && !(exception && today <= exception.until)
  })
  const lines = unique.map(({ name, severity, title, url }) => `${severity}: ${name}: ${title} ${url}`)
  return { lines: [...lines, `${unique.length} advisories, ${failing.length} against the policy`], failed: failing.length > 0 }
}

if (import.meta.main) {
  const args = ['audit', '--omit', 'dev', '--package-lock-only', '--json']
  const { stdout } = spawnSync('npm', args, { cwd: join(import.meta.dirname, '..'), encoding: 'utf8', timeout: 60_000 })
  const { lines, failed } = judge(stdout.trim() || '{}', new Date().toISOString().slice(0, 10))
  for (const line of lines) console.log(line)
  process.exitCode = failed ? 1 : 0
}
