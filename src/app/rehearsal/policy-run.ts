/** Runs one policy test. Nothing is called, opened or written. */
import type { Config } from '../../config/config.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { nanoFromUsd } from '../../core/money-text.ts'
import type { PolicyTest } from './policy-fixture.ts'
import { differences } from './policy-verdict.ts'
import { Rehearsal } from './rehearsal.ts'

/** @returns what differs, over all requests of the test. */
export async function findFailures(test: PolicyTest, config: Config): Promise<string[]> {
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
