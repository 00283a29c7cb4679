/** Output of `headgate check` and `headgate test` for a configuration that came with a request. Runs in a thread of its own. */
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/expand.ts'
import { lineDifference } from '../../config/line-difference.ts'
import { ConfigError, type Problem } from '../../config/problems.ts'
import { Source } from '../../config/source.ts'
import { restartReasons } from '../../config/watch.ts'
import { writtenLines } from '../../config/written-lines.ts'
import { fixtureIn, type PolicyTest } from '../rehearsal/policy-fixture.ts'
import { findFailures } from '../rehearsal/policy-run.ts'
import { harmless } from './harmless.ts'
import { type CheckJob, type CheckResult, type SubmittedText, type TestResult, withoutFile } from './job.ts'
import { readSubmitted } from './submitted.ts'

const MAX_TESTS = 200
const MAX_DIFFERENCES = 50

export async function checkText({ submitted, running, tests }: CheckJob): Promise<CheckResult> {
  const { config, problems, unchecked } = await readSubmitted(submitted)
  const before = config && (await readSubmitted({ ...submitted, text: running })).config
  const tested = tests === undefined ? { results: [], problems: [] } : await readTests(tests, submitted, config)
  const written = writtenLines(submitted.text)
  return {
    difference: written ? lineDifference(writtenLines(running) ?? [], written) : null,
    problems: problems.map(withoutFile),
    unchecked,
    counts: config ? { providers: config.providers.length, models: Object.keys(config.models).length, keys: config.keys.length } : null,
    needsRestart: config && before ? restartReasons(before, config) : [],
    tests: tested.results,
    testProblems: tested.problems.map(withoutFile),
  }
}

async function readTests(
  text: string,
  submitted: SubmittedText,
  config: Config | undefined,
): Promise<{ results: TestResult[]; problems: readonly Problem[] }> {
  try {
    const source = new Source('tests', text, {})
    const { tests, env } = fixtureIn(source)
    if (tests.length > MAX_TESTS) source.report(['tests'], `${tests.length} tests, expected at most ${MAX_TESTS}`)
    if (source.problems.length > 0) throw new ConfigError(source.problems)
    const used = Object.keys(env).length === 0 ? config : (await readSubmitted(submitted, env as Environment)).config
    return { results: used ? await runAll(tests, harmless(used)) : [], problems: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { results: [], problems: error.problems }
  }
}

async function runAll(tests: readonly PolicyTest[], config: Config): Promise<TestResult[]> {
  const results: TestResult[] = []
  for (const test of tests) {
    const differences = (await findFailures(test, config)).slice(0, MAX_DIFFERENCES)
    results.push({ name: test.name, passed: differences.length === 0, differences })
  }
  return results
}
