/**
 * A task of several turns through the gateway to a strict stand-in: two calls at once, a third after their results, an answer, and a
 * second question in the same conversation. The stand-in refuses whatever its provider would refuse.
 */
import type { Test } from 'tap'
import type { Utterance } from '../../support/wire.ts'
import { type Matrix, startMatrix } from '../../providers/matrix.ts'
import { RULES } from '../../providers/rules/index.ts'
import type { RuledModel, StandIn } from '../../providers/stand-in.ts'
import { WEATHER, weatherSentence } from './client.ts'

/** One provider for each wire, and the strictest of those that speak Chat Completions. */
const PRESETS = ['openai', 'anthropic', 'gemini', 'vertex-gemini', 'mistral', 'deepseek', 'openai-chat']

export const QUESTIONS = ['What is the weather in Rome and in Oslo?', 'And what do I take along?'] as const
const ANSWERS = ['It rains everywhere.', 'An umbrella.'] as const

const call = (id: string, place: string) => ({ id, name: WEATHER.name, args: ['{"pla', `ce":"${place}"}`] })

function saysAt(index: number, { reasons }: RuledModel): Utterance {
  const thoughts = reasons ? { reasoning: ['I look ', 'outside.'], reasoningId: `rs_${index + 1}` } : {}
  const [first, second] = ANSWERS
  const turns: Utterance[] = [
    { ...thoughts, calls: [call('call_Ab3dEf6hIj9kLm2nOp5qRs8t', 'Rome'), call('call_Zy8xWv5uTs2rQp9oNm6lKj3i', 'Oslo')] },
    { ...thoughts, calls: [call('call_Qw1eRt4yUi7oPa0sDf3gHj6k', 'Nice')] },
    { ...thoughts, text: ['It rains ', first.slice('It rains '.length)] },
    { ...thoughts, text: ['An ', second.slice('An '.length)] },
  ]
  return turns[index] ?? { text: ['Nothing more was scripted.'] }
}

export interface Account {
  /** Of the gateway, without a path. */
  readonly url: string
  readonly key: string
  readonly model: string
}

/** Asks both questions in one conversation, runs the tool where the model calls it. @returns both answers. */
export type RunTask = (account: Account) => Promise<readonly string[]>

export interface Tasks {
  readonly matrix: Matrix
  /** Runs the task at each stand-in. @param name of the client. */
  run(t: Test, name: string, task: RunTask): Promise<void>
}

/** The model says this next, by how many requests the stand-in has answered since. */
export function script(standIn: StandIn, saysAt: (index: number) => Utterance): void {
  const before = standIn.accepted.length
  Object.defineProperty(standIn, 'utterance', { get: () => saysAt(standIn.accepted.length - before - 1), configurable: true })
  standIn.refused.length = 0
}

async function runAt(t: Test, matrix: Matrix, standIn: StandIn, task: RunTask): Promise<void> {
  const [model] = standIn.rules.models
  script(standIn, (index) => saysAt(index, model))
  const before = standIn.accepted.length
  const account = { url: matrix.gateway.url, key: matrix.gateway.key, model: model.slug }
  const answers = await task(account).catch((error: unknown) => [String(error)])
  t.same(
    standIn.refused.map(({ refusal, body }) => `${JSON.stringify(refusal.body)} for ${JSON.stringify(body)}`),
    [],
    'the provider refuses nothing',
  )
  t.same(answers, ANSWERS)
  const requests = standIn.accepted.slice(before).map((body) => JSON.stringify(body))
  t.equal(requests.length, 4)
  for (const place of ['Rome', 'Oslo']) t.match(requests[1], weatherSentence({ place }))
  t.match(requests[2], weatherSentence({ place: 'Nice' }))
  t.match(requests[3], QUESTIONS[1])
  t.match(requests[3], ANSWERS[0])
}

/** Everything stops when `root` ends. */
export async function startTasks(root: Test): Promise<Tasks> {
  const matrix = await startMatrix(
    root,
    RULES.filter(({ preset }) => PRESETS.includes(preset)),
  )
  return {
    matrix,
    run: async (t, name, task) => {
      for (const standIn of matrix.standIns)
        await t.test(`${name} at ${standIn.rules.preset}`, (t) => runAt(t as unknown as Test, matrix, standIn, task))
    },
  }
}
