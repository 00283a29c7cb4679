/** The inside of the thread that looks at submitted configurations. */
import './isolated.ts'
import { serveJobs } from '../../services/threads/index.ts'
import type { CheckJob } from './job.ts'

serveJobs(async (job) => ({ result: await (await import('./check-text.ts')).checkText(job as CheckJob) }))
