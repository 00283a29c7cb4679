/**
 * The inside of the thread that checks the file of the embedded store. It reads the file by itself, as it is after the last checkpoint:
 * `immutable` takes no locks (sqlite.org/uri.html), which the gateway holds alone, and no look at the log. Only SQLite may open the file
 * here: with any other descriptor of it that this process closes, the system would drop the gateway's locks (fcntl, POSIX 2.14).
 */
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Refusal, serveJobs } from '../../services/threads/index.ts'
import { checkSlice, isDamage } from '../../store/page-check.ts'
import type { SliceJob, SliceResult } from './job.ts'

let open: { readonly db: DatabaseSync; readonly state: string } | undefined

serveJobs(async (job) => ({ result: check(job as SliceJob) }))

function check({ path, state, table, after, most }: SliceJob): SliceResult {
  try {
    return checkSlice(opened(path, state), table, after, most)
  } catch (thrown) {
    const words = thrown instanceof Error ? thrown.message : String(thrown)
    if (!isDamage(thrown)) throw new Refusal(words)
    return { rows: 0, problem: words }
  }
}

function opened(path: string, state: string): DatabaseSync {
  if (open?.state === state) return open.db
  open?.db.close()
  open = undefined
  const address = pathToFileURL(path)
  address.search = '?immutable=1'
  const db = new DatabaseSync(address, { readOnly: true })
  open = { db, state }
  return db
}
