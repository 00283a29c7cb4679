/** Clients in other languages at what they do beside tools (`support/features.ts`): those whose row in `certified.ts` says so. */
import t, { type Test } from 'tap'
import { type Run, languageRuns } from './support/certified.ts'
import { tryFeatures } from './support/features.ts'
import { startHouse } from './support/house.ts'
import { FEATURE_PROGRAMS, missing, PROGRAMS, type ProgramLanguage } from './support/language-programs.ts'
import { startFeatureProgram } from './support/task-program.ts'

const ONLY = process.env.HEADGATE_ONLY
const isTried = ({ features, program }: Run): boolean => features === true && (ONLY === undefined || program.includes(ONLY))

async function tryLanguage(t: Test, language: ProgramLanguage): Promise<void> {
  const house = await startHouse(t)
  const { command, args } = FEATURE_PROGRAMS[language] ?? PROGRAMS[language]
  const startRun = startFeatureProgram(t, command, args)
  for (const client of languageRuns(language).filter(isTried)) await tryFeatures(t, { house, client, run: startRun(client.program) })
}

t.setTimeout(880_000)
for (const language of Object.keys(FEATURE_PROGRAMS) as ProgramLanguage[])
  await t.test(`clients in ${language}`, { skip: missing(language), timeout: 800_000 }, (t) => tryLanguage(t, language))
