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

serveJobs(async (job) => {
  const { at, text, url, agent } = job as RobotsJob
  return { result: parse(at, text).isAllowed(url, agent) !== false }
})
