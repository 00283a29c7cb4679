/** Loops of assertions that count as one: the printed figure counts what is tested, not how often a loop goes round. */
import type { Test } from 'tap'

/**
 * Runs a loop whose assertions are shown only where one of them fails.
 * @param what holds for every round. @param loop asserts on the test that it is given.
 */
export async function every(t: Test, what: string, loop: (t: Test) => Promise<unknown> | unknown): Promise<void> {
  let asserted = 0
  let passed = false
  await t.test(what, { silent: true }, async (rounds) => {
    await loop(rounds)
    asserted = rounds.count
    passed = rounds.passing()
  })
  if (passed) t.ok(asserted > 0, asserted > 0 ? what : `${what}: no round asserts anything`)
}
