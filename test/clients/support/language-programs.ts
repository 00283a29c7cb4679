/** The programs of `test/clients/` in other languages, each of which runs its clients at the task of `task.ts`, and how they are started. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Language } from './certified.ts'

interface LanguageProgram {
  readonly command: string
  readonly args: readonly string[]
  /** Programs that have to be installed. */
  readonly built: string
}

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

export type ProgramLanguage = Exclude<Language, 'JavaScript'>

const PYTHON = process.env.HEADGATE_TEST_PYTHON ?? at('python/.venv/bin/python')
const GO = at('go/.build/task')
const RUST = at('rust/.build/debug/task')

export const PROGRAMS: Readonly<Record<ProgramLanguage, LanguageProgram>> = {
  Go: { command: GO, args: [], built: GO },
  Java: {
    command: 'java',
    // The faster start is worth more than what the second compiler would make of a few requests.
    args: ['-XX:TieredStopAtLevel=1', '-cp', `${at('java/.build/classes')}:${at('java/.build/lib')}/*`, 'Task'],
    built: at('java/.build/classes/Task.class'),
  },
  Python: { command: PYTHON, args: [at('python/task.py')], built: PYTHON },
  Rust: { command: RUST, args: [], built: RUST },
}

/** Start of the program of a language for `features.ts`; its clients are in the list of its task. */
export const FEATURE_PROGRAMS: Readonly<Partial<Record<ProgramLanguage, Pick<LanguageProgram, 'command' | 'args'>>>> = {
  Go: PROGRAMS.Go,
  Java: PROGRAMS.Java,
  Python: { command: PYTHON, args: [at('python/features.py')] },
  Rust: PROGRAMS.Rust,
}

/** A reason to skip the clients of a language; undefined where they are built. */
export const missing = (language: ProgramLanguage): string | undefined =>
  existsSync(PROGRAMS[language].built) ? undefined : `NOT BUILT: clients in ${language}, see .ci/run`
