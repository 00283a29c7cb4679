/** `headgate test DIR`: policy tests for an operator's own CI. Nothing is called, opened or written. */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { loadWhole } from '../app/config-reader.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/expand.ts'
import { ConfigError } from '../config/problems.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { nanoFromUsd } from '../core/money.ts'
import { CONSOLE, type Streams } from './console.ts'
import { visible } from './plan-table.ts'
import { type PolicyTest, readFixture } from './policy-fixture.ts'
import { differences } from './policy-verdict.ts'
import { Rehearsal } from './rehearsal.ts'

/**
 * Runs every test of the YAML and JSON files in a folder, or of one file, and prints a line for each.
 * @returns the exit code: 0, or 1 where a test failed or a file cannot be used, or there is no test at all.
 */
export async function policyTests(path: string, env: Environment = process.env, streams: Streams = CONSOLE): Promise<number> {
  let passed = 0
  let failed = 0
  try {
    for (const file of filesOf(path)) {
      streams.out(file)
      const { tests, config, broken } = await load(file, env)
      if (broken !== undefined || !config) {
        failed++
        streams.error(broken ?? `${file}: no configuration`)
        continue
      }
      for (const test of tests) {
        const lines = await run(test, config)
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

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(ya?ml|json)$/.test(name))
  return names.sort().map((name) => join(path, name))
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

/** @returns what differs, over all requests of the test. */
async function run(test: PolicyTest, config: Config): Promise<string[]> {
  const lines: string[] = []
  for (const [i, text] of test.requests.entries()) {
    const found = await once(text, test, config)
    for (const line of found) lines.push(test.requests.length > 1 ? `request ${i + 1}: ${line}` : line)
  }
  return lines
}

/** Every request meets a gateway that has just been started. */
async function once(text: string, test: PolicyTest, config: Config): Promise<string[]> {
  const { key, format, headers, random, health = {}, spent_usd: spent } = test
  const rehearsal = new Rehearsal(config, random === undefined ? systemClock : fixedDraw(random))
  try {
    const unknown = Object.entries(health).filter(([tag, ailment]) => !rehearsal.harm(tag, ailment))
    if (unknown.length > 0) return unknown.map(([tag]) => `health: no endpoint ${tag}`)
    if (spent !== undefined) rehearsal.spend(key, nanoFromUsd(spent) ?? 0)
    return differences(test.expect, await rehearsal.plan({ text, key, format, headers }))
  } catch (error) {
    return [String(error instanceof Error ? error.message : error)]
  } finally {
    await rehearsal.close()
  }
}

function fixedDraw(number: number): Clock {
  return { ...systemClock, random: () => number }
}
