/** The programs of `test/clients/` in other languages that read ends of answers (`python/ends.py`, `go/ends.go`, `java/src/Ends.java`). */
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { missing, PROGRAMS, type ProgramLanguage } from './language-programs.ts'
import { type Account, type Read, startReaders } from './task-program.ts'

const PYTHON_ENDS = fileURLToPath(new URL('../python/ends.py', import.meta.url))

/** Names of clients, by the language of their program. */
export type ProgramClients = Readonly<Partial<Record<ProgramLanguage, readonly string[]>>>

export const namesIn = (clients: ProgramClients): string[] => Object.values(clients).flat()

/** Starts those that are built, and says which are not. @returns the readers of an account. */
export function startPrograms(t: Test, clients: ProgramClients): (account: Account) => Record<string, Read> {
  const programs: ReturnType<typeof startReaders>[] = []
  for (const [language, names] of Object.entries(clients) as [ProgramLanguage, readonly string[]][]) {
    const reason = missing(language)
    const { command, args } = PROGRAMS[language]
    const ends = language === 'Python' ? [PYTHON_ENDS] : [...args, 'ends']
    if (reason === undefined) programs.push(startReaders(t, { command, args: ends, clients: names }))
    else t.comment(reason)
  }
  return (account) => Object.assign({}, ...programs.map((program) => program(account)))
}
