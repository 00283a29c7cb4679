/**
 * Features of clients of other languages beside tools, at providers of four formats: structured output, an image, reasoning that is shown, a stream
 * that is left, and reasoning that goes back with the result of a call. Those in JavaScript are in `exercise.ts`.
 */
import type { Test } from 'tap'
import { sseAnswer } from '../../support/upstream.ts'
import { framesFor, type Utterance, type WireName } from '../../support/wire.ts'
import type { Run } from './certified.ts'
import { type Ability, PIXEL, WEATHER } from './client.ts'
import { ENCRYPTED, ENCRYPTED_TEXT } from './encrypted.ts'
import { DIALECTS, type House, dialectModel } from './house.ts'
import type { Account } from './task.ts'
import type { RunFeature } from './task-program.ts'

interface Stage {
  readonly house: House
  readonly client: Run
  readonly dialect: WireName
  readonly run: RunFeature
}

const stageAccount = ({ house: { gateway }, dialect }: Stage): Account => ({ url: gateway.url, key: gateway.key, model: dialectModel(dialect) })

const able = ({ client, dialect }: Stage, ability: Ability): boolean =>
  !client.lacks?.some((lack) => lack.ability === ability && (lack.from?.includes(dialect) ?? true) && (client.stream || !lack.streamed))

const run = (stage: Stage, feature?: string): Promise<readonly string[] | string> =>
  stage.run(stageAccount(stage), feature).catch((error: unknown) => String(error))

async function structures(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ text: ['{"capital":"Oslo",', '"inhabitants":709037}'] })
  if (!able(stage, 'schema')) return void t.type(await run(stage, 'schema'), 'string', 'this client has begun to support it')
  t.same(await run(stage, 'schema'), ['Oslo', '709037'])
  t.match(stage.house.seen()[0]?.body, /"inhabitants":\{[^}]*"type":"(?:integer|INTEGER)"/)
}

async function sees(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ text: ['A ', 'dot.'] })
  t.same(await run(stage, 'image'), ['A dot.'])
  t.match(stage.house.seen()[0]?.body, PIXEL)
}

async function shows(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ reasoning: ['look ', 'outside'], signature: ENCRYPTED_TEXT, text: ['Wet', '.'] })
  const [shown, text] = await run(stage, 'reasoning')
  t.equal(text, 'Wet.')
  if (able(stage, 'reasoning')) t.equal(shown, 'look outside')
  else t.not(shown, 'look outside', 'this client has begun to show it')
}

async function leaves(t: Test, stage: Stage): Promise<void> {
  stage.house.script((seen) => {
    const frames = framesFor(seen.path, { text: ['one', 'two'] })
    // Spring AI shows each piece with the next one.
    return sseAnswer(frames.slice(0, frames.findIndex((frame) => frame.includes('two')) + 1), { after: 'stall' })
  })
  t.same(await run(stage, 'abort'), ['one'])
  const [seen] = stage.house.seen()
  t.ok(seen && (await seen.closed).aborted, "the provider's request is ended")
}

/** In the conversation of the task, by the client's defaults. */
async function sendsBack(t: Test, stage: Stage): Promise<void> {
  const call = { id: 'call_a', name: WEATHER.name, args: ['{"place":"Rome"}'] }
  const utterance: Utterance = { reasoning: ['look ', 'outside'], signature: ENCRYPTED_TEXT, calls: [call] }
  stage.house.script(utterance, { text: ['Wet', '.'] }, { text: ['An umbrella.'] })
  t.same(await run(stage), ['Wet.', 'An umbrella.'])
  const body = stage.house.seen()[1]?.body
  if (able(stage, 'replay')) t.match(body, ENCRYPTED[stage.dialect], 'the encrypted reasoning goes back')
  else t.notMatch(body, ENCRYPTED[stage.dialect], 'this client has begun to send it back')
}

/** Runs all of it at every format of a provider. */
export async function tryFeatures(root: Test, stage: Omit<Stage, 'dialect'>): Promise<void> {
  for (const { ability, why, from = ['any'] } of stage.client.lacks ?? [])
    root.comment(`${stage.client.program} without ${ability} from ${from.join(', ')}: ${why}`)
  for (const dialect of DIALECTS)
    await root.test(`${stage.client.program} from ${dialect}`, async (t) => {
      const here = { ...stage, dialect }
      await t.test('structured output', (t) => structures(t, here))
      await t.test('image', (t) => sees(t, here))
      await t.test('reasoning is shown', (t) => shows(t, here))
      await t.test('reasoning goes back', (t) => sendsBack(t, here))
      // What a client does when it leaves is the same at each format of a provider.
      if (dialect === 'openai-chat' && here.client.stream) await t.test('abort', (t) => leaves(t, here))
    })
}
