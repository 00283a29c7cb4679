/** The agent before `sim/agent`, which plays a small task where there is no provider: as the agents' pages say, a developer tries the set-up. */
import type { Test } from 'tap'
import type { CertifiedAgent, Format } from './agent-run.ts'
import { startProcess } from './start-process.ts'
import { openSample, setStage, textIn } from './world.ts'

export const SAMPLE = 'sample'
const FILE = 'headgate-sample.txt'
const WRITTEN = /^Written through the gateway/
/** The last words have the result of the last call in them: what was written and read back. */
const LAST_WORDS = /The task is done\.[\s\S]*Written through the gateway/

/** Runs the task of the documents, once in this format. */
export async function tryWithoutProvider(t: Test, agent: CertifiedAgent, { install, format }: { install: string; format: Format }) {
  const name = `${agent.name}, ${format}, without a provider`
  const world = await openSample(agent)
  const begun = performance.now()
  try {
    const stage = await setStage(agent, world, { install, scenario: SAMPLE, format })
    const { place } = stage
    const args = agent.command(`Write ${FILE}, and read it back.`, {}, place)
    const { code, out, err } = await startProcess(agent, place, [agent.program(install), ...args]).ended
    const printed = `${out.slice(-2000)}\n${err.slice(-2000)}`
    t.equal(code, 0, `${name}: ends well: ${printed}`)
    t.match(textIn(place.work, FILE) ?? '', WRITTEN, `${name}: the file is written: ${printed}`)
    t.match(out, LAST_WORDS, `${name}: the last words show what was read`)
    const failed = world.gateway.logs.filter((line) => line.includes('"msg":"exchange"') && !/"status":(?:200|499)/.test(line))
    t.same(failed, [], `${name}: no request is refused`)
    stage.remove()
  } finally {
    await world.close()
  }
  console.error(`ran     ${name}  ${((performance.now() - begun) / 1000).toFixed(1)} s`)
}
