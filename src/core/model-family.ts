/** Family and version in the name of a model: `claude-sonnet-4.5` is version 4.5 of `claude-sonnet`. */

export interface FamilyMember {
  /** The name without its versions and dates. */
  readonly family: string
  /** Numbers of the version, then those of the date. */
  readonly version: readonly number[]
  readonly date: readonly number[]
}

const VERSION = /^v?\d+(?:\.\d+)*$/
/** Numbers as long as this one are days, such as 20250929. */
const DAY_DIGITS = 6
const YEAR = /^20\d\d$/
const MONTH_OR_DAY = /^[0-3]\d$/

/** @param name the part of a slug behind the author; its parts stand between hyphens. */
export function familyMember(name: string): FamilyMember {
  const family: string[] = []
  const version: number[] = []
  const date: number[] = []
  let inDate = false
  for (const part of name.split('-')) {
    if (!VERSION.test(part)) {
      family.push(part)
      inDate = false
      continue
    }
    inDate = part.length >= DAY_DIGITS || YEAR.test(part) || (inDate && MONTH_OR_DAY.test(part))
    const numbers = part.replace('v', '').split('.').map(Number)
    if (inDate) date.push(...numbers)
    else version.push(...numbers)
  }
  return { family: family.join('-'), version, date }
}

/** Above 0 where the first is the later version; of equal ones the later date decides. */
export function compareVersions(a: FamilyMember, b: FamilyMember): number {
  return compareNumbers(a.version, b.version) || compareNumbers(a.date, b.date)
}

function compareNumbers(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? -1) - (b[i] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}

/** The slug that stands for the newest of the model's family; undefined for a listing of its own such as `a/b:free`. */
export function latestSlug(slug: string): string | undefined {
  const slash = slug.indexOf('/')
  if (slash < 1 || slug.includes(':') || slug.includes('*')) return undefined
  const { family } = familyMember(slug.slice(slash + 1))
  return family === '' ? undefined : `~${slug.slice(0, slash)}/${family}-latest`
}

/** The part of a slug before its slash; empty for a bare name. */
export function slugAuthor(slug: string): string {
  return slug.slice(0, Math.max(0, slug.indexOf('/')))
}

/** True for `~author/family-latest`. */
export function isLatestSlug(slug: string): boolean {
  return slug.startsWith('~') && slug.endsWith('-latest')
}
