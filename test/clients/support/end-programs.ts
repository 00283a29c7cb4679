/** Where the programs of `test/clients/` in Python and Go stand, which read ends of answers (`python/ends.py`, `go/ends.go`). */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Account, type Read, startReaders } from './task-program.ts'

const PYTHON_FOLDER = fileURLToPath(new URL('../python/', import.meta.url))
const PYTHON = process.env.HEADGATE_TEST_PYTHON ?? `${PYTHON_FOLDER}.venv/bin/python`
const GO = fileURLToPath(new URL('../go/.build/task', import.meta.url))

/** Starts those that are installed, and says which are not. @returns the readers of an account. */
export function startPrograms(
  t: Test,
  clients: { python: readonly string[]; go: readonly string[] },
): (account: Account) => Record<string, Read> {
  const programs: ReturnType<typeof startReaders>[] = []
  if (existsSync(PYTHON)) programs.push(startReaders(t, { command: PYTHON, args: [`${PYTHON_FOLDER}ends.py`], clients: clients.python }))
  else t.comment('NOT INSTALLED: test/clients/python/.venv, see .ci/run: no clients in Python')
  if (existsSync(GO)) programs.push(startReaders(t, { command: GO, args: ['ends'], clients: clients.go }))
  else t.comment('NOT BUILT: test/clients/go/.build, see .ci/run: no clients in Go')
  return (account) => Object.assign({}, ...programs.map((program) => program(account)))
}
