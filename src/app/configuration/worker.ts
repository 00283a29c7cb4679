/** The inside of the thread that looks at submitted configurations. */
import './isolated.ts'
import { serveJobs } from '../../services/threads/index.ts'
import type { CheckJob, LoadJob, RehearseJob } from './job.ts'

serveJobs(async (given) => {
  const job = given as LoadJob | CheckJob | RehearseJob
  const [{ checkText }, { rehearseText }] = [await import('./check-text.ts'), await import('./rehearse-text.ts')]
  return { result: job.kind === 'load' ? null : job.kind === 'check' ? await checkText(job) : await rehearseText(job) }
})
