/** The name under which a process leases credit: kept beside its journal, so that after a crash it finds its own lease again. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** @param journal path of the journal; undefined where it is kept in memory: then every start is a new process. */
export function nodeName(journal: string | undefined): string {
  const made = randomUUID()
  if (journal === undefined) return made
  const file = `${journal}.node`
  mkdirSync(dirname(file), { recursive: true })
  try {
    writeFileSync(file, `${made}\n`, { flag: 'wx', mode: 0o600 })
    return made
  } catch (thrown) {
    const found = (thrown as NodeJS.ErrnoException).code === 'EEXIST' ? readFileSync(file, 'utf8').trim() : ''
    // A file that was cut short by a crash holds no name.
    if (/^[0-9a-f-]{36}$/.test(found)) return found
    writeFileSync(file, `${made}\n`, { mode: 0o600 })
    return made
  }
}
