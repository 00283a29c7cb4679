/**
 * Domain rules for engines that know whole hosts only. An engine may be sent a weaker rule, never a stricter one:
 * `searchWeb` applies the full rules to the results.
 */

const PROTOCOL = /^https?:\/\//i

/** Hosts that the allowed pages are on; a rule for subdomains or paths stands for its whole host. */
export function allowedHosts(allowed: readonly string[]): string[] {
  return [...new Set(allowed.map((entry) => bare(entry).replace(/^\*\./, '').replace(/\/.*$/, '')))]
}

/** The rules that exclude a host and all below it: a part of a host cannot be excluded by name. */
export function wholeHosts(excluded: readonly string[]): string[] {
  return [...new Set(excluded.map((entry) => bare(entry).replace(/\/$/, '')))].filter((entry) => !/^\*\.|\//.test(entry))
}

function bare(entry: string): string {
  return entry.trim().replace(PROTOCOL, '')
}
