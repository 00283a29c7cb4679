/** Origin of a change by a command on a store whose gateway does not run, for the audit log. */
import { userInfo } from 'node:os'
import type { Origin } from '../core/audit-entries.ts'

/** The account that runs the command. */
export function commandOrigin(): Origin {
  return { actor: { kind: 'command_line', id: accountName(), name: null }, address: null }
}

function accountName(): string {
  try {
    return userInfo().username
  } catch {
    // An account without an entry in the machine's list, as in many containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
