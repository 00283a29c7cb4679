/** A configuration that came with a request: only its own words count. No file, variable, secret or plugin of the machine is read for it. */
import type { Config } from '../../config/config.ts'
import { type Environment, WITHHELD } from '../../config/expand.ts'
import { loadConfig } from '../../config/load.ts'
import { ConfigError, type Path, type Problem, pathText } from '../../config/problems.ts'
import { SecretReferences } from '../../config/secret-references.ts'
import type { Source } from '../../config/source.ts'
import { withPlugins } from '../plugin-list.ts'
import type { SubmittedText, Unchecked } from './job.ts'

export interface SubmittedReading {
  /** Absent where there are problems. */
  config?: Config
  problems: Problem[]
  unchecked: Unchecked[]
}

const MAX_UNCHECKED = 200

/** @param values of variables that came with the text. */
export async function readSubmitted(submitted: SubmittedText, values: Environment = {}): Promise<SubmittedReading> {
  const { file, text, catalogs } = submitted
  const env: Environment = { ...submittedVariables(submitted), ...values }
  let main: Source | undefined
  const left: { path: Path; what: string }[] = []
  const unchecked = (): Unchecked[] =>
    [...(main?.withheld ?? []), ...left]
      .slice(0, MAX_UNCHECKED)
      .map(({ path, what }) => ({ ...(main?.pathPlace(path) ?? { line: 1, column: 1 }), path: pathText(path), what }))
  try {
    const config = loadConfig(file, env, {
      text,
      untrusted: { catalogs: new Set(catalogs) },
      seen: (source) => {
        main = source
      },
    })
    for (const [i, { name }] of config.plugins.load.entries()) left.push({ path: ['plugins', 'load', i], what: name })
    if (config.plugins.load.length === 0) await withPlugins(config, { env, text })
    return { config, problems: [], unchecked: unchecked() }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { problems: [...error.problems], unchecked: unchecked() }
  }
}

/** Every variable and every reference of the text, with its value withheld. */
function submittedVariables({ file, text, variables }: SubmittedText): Environment {
  const names = Object.fromEntries(variables.map((name) => [name, WITHHELD]))
  const { all } = new SecretReferences(file, text, names)
  return { ...names, ...Object.fromEntries(all.map((reference) => [reference, WITHHELD])) }
}
