/** Answers that end as they should not: an agent runs nothing of them, does not take them for finished, and goes on with the next answer. */
import { endedFrames } from '../support/ended.ts'
import type { Answer } from '../support/upstream.ts'
import { ALL_WIRES, streamAnswer, type Utterance, type WireName } from '../support/wire.ts'
import type { Step } from './model.ts'
import { modelFor, type Outcome, runProblems, type Scenario } from './scenarios.ts'
import { startProcess } from './start-process.ts'
import { type Stage, textIn } from './world.ts'

const COUNT = 'count.txt'
/** A call that runs twice, or that runs although it came by half, shows. */
const RUN: Step = { name: 'count', action: { do: 'run', commands: [`printf x >> ${COUNT}`] } }

type Break = (wire: WireName) => (utterance: Utterance) => Answer

/** The frames before the one that says how the answer has ended. */
function framesBeforeEnd(wire: WireName, utterance: Utterance): string[] {
  const good = endedFrames(wire, utterance, undefined)
  const bad = endedFrames(wire, utterance, 'a_new_word')
  const end = good.findIndex((frame, at) => frame !== bad[at])
  return good.slice(0, end)
}

/** The frames of an answer that stops within its call. Gemini has a call in one frame: there it stops before that. */
function halfFrames(wire: WireName, utterance: Utterance): string[] {
  if (wire === 'gemini') return framesBeforeEnd(wire, { text: ['I count', ' once.'], ...utterance, calls: undefined })
  const cut = utterance.calls?.map((call) => ({ ...call, args: [call.args.join('').slice(0, -4)] }))
  return framesBeforeEnd(wire, { ...utterance, calls: cut })
}

const BREAKS: Readonly<Record<string, Break>> = {
  'cut within a call': (wire) => (utterance) => {
    const { headers, body } = streamAnswer(ALL_WIRES[wire], halfFrames(wire, utterance))
    return { headers: { ...headers, connection: 'close' }, body, after: 'close' }
  },
  'an error within a call': (wire) => (utterance) =>
    streamAnswer(ALL_WIRES[wire], [...halfFrames(wire, utterance), ALL_WIRES[wire].brokenFrame('it broke')]),
  'a word that is not known': (wire) => (utterance) => streamAnswer(ALL_WIRES[wire], endedFrames(wire, utterance, 'a_new_word')),
}

async function failure(stage: Stage): Promise<Outcome> {
  const { agent, place, world } = stage
  const names = Object.keys(BREAKS)
  const breaks = Object.values(BREAKS).map((each) => each(world.wire))
  const model = modelFor(stage, { steps: [RUN], breaks })
  const args = agent.command('Count once.', {}, place)
  const run = await startProcess(agent, place, [agent.program(place.install), ...args]).ended
  const seen = model.broken.get(RUN.name) ?? 0
  const written = textIn(place.work, COUNT)
  const problems: string[] = []
  if (seen === 0) problems.push('no answer was broken')
  // One that gives up shows it, and has run nothing.
  if (run.code === 0 || written !== undefined) problems.push(...runProblems(stage, model, run))
  if (written !== undefined && written !== 'x') problems.push(`the command was run ${written.length} times`)
  // The last one has its call whole, and agents run a call as soon as it is.
  if (run.code === 0 && !model.served.has(RUN.name) && seen < names.length)
    problems.push(`it took this for a good answer: ${names[seen - 1]}`)
  return {
    problems,
    traffic: model.traffic,
    note: run.code === 0 ? undefined : `it gives up after ${seen} of ${names.length}, and shows it`,
  }
}

export const FAILURE: Scenario = {
  name: 'failure',
  text: 'an answer that is cut within a call, one that ends in an error, one with an unknown end: nothing of them is run',
  run: failure,
}
