/** The inside of the thread that looks at submitted configurations. */
import './isolated.ts'
import { serveJobs } from '../../services/threads/index.ts'
import type { CheckJob, RehearseJob } from './job.ts'

serveJobs(async (given) => {
  const job = given as CheckJob | RehearseJob
  if (job.kind === 'rehearse') return { result: await (await import('./rehearse-text.ts')).rehearseText(job) }
  return { result: await (await import('./check-text.ts')).checkText(job) }
})
