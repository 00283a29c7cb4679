/** `headgate test DIR`: policy tests for an operator's own CI. Nothing is called, opened or written. */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { loadWhole } from '../app/config-reader.ts'
import { type PolicyTest, readFixture } from '../app/rehearsal/policy-fixture.ts'
import { findFailures } from '../app/rehearsal/policy-run.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/expand.ts'
import { ConfigError } from '../config/problems.ts'
import { CONSOLE, type Streams } from './console.ts'
import { visible } from './plan-table.ts'

/**
 * Runs every test of the YAML and JSON files in a folder, or of one file, and prints a line for each. Packages and hidden folders hold
 * files of other programs: they are passed over.
 * @returns the exit code: 0, or 1 where a test failed or a file cannot be used, or there is no test at all.
 */
export async function policyTests(path: string, env: Environment = process.env, streams: Streams = CONSOLE): Promise<number> {
  let passed = 0
  let failed = 0
  try {
    for (const file of listFiles(path)) {
      streams.out(file)
      const { tests, config, broken } = await load(file, env)
      if (broken !== undefined || !config) {
        failed++
        streams.error(broken ?? `${file}: no configuration`)
        continue
      }
      for (const test of tests) {
        const lines = await findFailures(test, config)
        if (lines.length === 0) passed++
        else failed++
        streams.out(`  ${lines.length === 0 ? 'pass' : 'FAIL'}  ${visible(test.name)}`)
        for (const line of lines) streams.out(`          ${visible(line)}`)
      }
    }
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
  streams.out(`${passed} passed, ${failed} failed`)
  if (passed + failed === 0) streams.error(`headgate: ${path}: no tests, expected files that end in .yaml, .yml or .json`)
  return failed > 0 || passed === 0 ? 1 : 0
}

function listFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const at = join(path, entry.name)
      if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name.startsWith('.') ? [] : listFiles(at)
      return /\.(ya?ml|json)$/.test(entry.name) ? [at] : []
    })
}

interface Loaded {
  tests: PolicyTest[]
  config?: Config
  /** Why the file cannot be used: `file:line:column` and what was expected. */
  broken?: string
}

async function load(file: string, env: Environment): Promise<Loaded> {
  try {
    const { config, env: variables, tests } = readFixture(file, env)
    return { tests, config: await loadWhole(resolve(dirname(file), config), { ...env, ...variables }) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { tests: [], broken: error.message }
  }
}
