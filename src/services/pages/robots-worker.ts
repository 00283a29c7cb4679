/** The inside of the thread that reads robots.txt: a hostile one can make its rules as slow as it likes. */
import robotsParser from 'robots-parser'
import { serveJobs } from '../threads/index.ts'

export interface RobotsJob {
  /** Address of the robots.txt. */
  at: string
  text: string
  /** The page, and the name of our user agent. */
  url: string
  agent: string
}

/** The package is one function; its types say a module. */
const parse = robotsParser as unknown as (at: string, text: string) => { isAllowed(url: string, agent: string): boolean | undefined }

/**
 * Lines that make groups and rules. Others must not interfere with them (RFC 9309, section 2.2.4), but the package ends a group at one
 * that stands between two lines `User-agent` (robots-parser 3.0.1): what is disallowed for the first of them was allowed.
 */
const RULE = /^[\uFEFF\s]*(?:user-agent|allow|disallow)\s*:/i

serveJobs(async (job) => {
  const { at, text, url, agent } = job as RobotsJob
  const rules = text.split(/\r\n|\r|\n/).filter((line) => RULE.test(line))
  return { result: parse(at, rules.join('\n')).isAllowed(url, agent) !== false }
})
