/** Exercises that every client must manage through the gateway, whichever upstream dialect serves it. */
import type { Test } from 'tap'
import type { Seen } from '../../support/upstream.ts'
import { sseAnswer } from '../../support/upstream.ts'
import { framesFor, type Utterance, upstreamError, type WireName } from '../../support/wire.ts'
import { certified } from './certified.ts'
import { type Ability, type Ask, type Client, PIXEL, type Status } from './client.ts'
import { ENCRYPTED, ENCRYPTED_TEXT } from './encrypted.ts'
import { DIALECTS, type House, dialectModel } from './house.ts'

const call = (id: string, ...args: string[]): { id: string; name: string; args: string[] } => ({ id, name: 'weather', args })

interface Stage {
  house: House
  client: Client
  dialect: WireName
  stream: boolean
}

const able = ({ client, dialect, stream }: Stage, ability: Ability): boolean =>
  !certified(client.name).lacks?.some((lack) => lack.ability === ability && (lack.from?.includes(dialect) ?? true) && (stream || !lack.streamed))

const stageAsk = ({ dialect, stream }: Stage, more: Partial<Ask> = {}): Ask => ({
  model: dialectModel(dialect),
  prompt: 'Is it wörth it?',
  stream,
  ...more,
})

async function speaks(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ text: ['Hel', 'lo ', 'wörld'] })
  const heard: string[] = []
  const told = await stage.client.ask(stageAsk(stage, { onText: (delta) => heard.push(delta) }))
  t.equal(told.text, 'Hello wörld')
  if (stage.stream) {
    t.equal(heard.join(''), 'Hello wörld')
    t.ok(heard.filter((delta) => delta !== '').length >= 2, 'in more than one piece')
  }
  t.same(told.usage, { input: 11, output: 7, cached: 3, reasoning: 2 })
  t.equal(stage.house.seen().length, 1)
  t.match(stage.house.seen()[0].body, 'Is it wörth it?')
}

async function usesTools(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ calls: [call('call_a', '{"place"', ':"Rome"}')] }, { text: ['Take an ', 'umbrella.'] })
  const told = await stage.client.ask(stageAsk(stage, { tool: true }))
  t.equal(told.text, 'Take an umbrella.')
  const [first, second] = stage.house.seen()
  t.match(first.body, 'The weather of a place')
  t.match(first.body, 'Name of the place')
  t.match(second.body, 'It rains frogs in Rome.')
  t.ok(stage.dialect === 'gemini' || second.body.split('call_a').length === 3, 'call and result have the id of the call')
  t.equal(stage.house.seen().length, 2)
}

async function callsTwoAtOnce(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ calls: [call('call_a', '{"place":"Rome"}'), call('call_b', '{"place":', '"Oslo"}')] }, { text: ['Both', ' wet.'] })
  const told = await stage.client.ask(stageAsk(stage, { tool: true }))
  t.equal(told.text, 'Both wet.')
  const [, second] = stage.house.seen()
  t.match(second.body, 'It rains frogs in Rome.')
  t.match(second.body, 'It rains frogs in Oslo.')
  t.equal(stage.house.seen().length, 2)
}

async function structures(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ text: ['{"capital":"Oslo",', '"inhabitants":709037}'] })
  const told = await stage.client.ask(stageAsk(stage, { schema: true }))
  t.same(told.value, { capital: 'Oslo', inhabitants: 709037 })
  t.match(stage.house.seen()[0].body, /"inhabitants":\{"type":"(?:integer|INTEGER)"/)
}

async function sees(t: Test, stage: Stage): Promise<void> {
  stage.house.script({ text: ['A ', 'dot.'] })
  const told = await stage.client.ask(stageAsk(stage, { image: PIXEL }))
  t.equal(told.text, 'A dot.')
  t.match(stage.house.seen()[0].body, PIXEL)
}

/** Reasoning is shown, and goes back to the provider that encrypted it with the result of the call that it led to. */
async function reasons(t: Test, stage: Stage): Promise<void> {
  const utterance: Utterance = { reasoning: ['look ', 'outside'], signature: ENCRYPTED_TEXT, calls: [call('call_a', '{"place":"Rome"}')] }
  stage.house.script(utterance, { text: ['Wet', '.'] })
  const told = await stage.client.ask(stageAsk(stage, { tool: true, reasoning: true }))
  t.equal(told.text, 'Wet.')
  if (able(stage, 'reasoning')) t.equal(told.reasoning, 'look outside')
  else t.equal(told.reasoning, '', 'this client has begun to show it')
  const [, second] = stage.house.seen()
  if (able(stage, 'replay')) t.match(second.body, ENCRYPTED[stage.dialect], 'the encrypted reasoning goes back')
  else t.notMatch(second.body, ENCRYPTED_TEXT, 'this client has begun to send it back')
}

/** A stream that breaks off must not look like an answer. */
async function breaks(t: Test, stage: Stage): Promise<void> {
  stage.house.script((seen: Seen) =>
    sseAnswer(framesFor(seen.path, { text: ['one', 'two', 'three', 'four'] }).slice(0, -4), { after: 'close' }),
  )
  await t.rejects(stage.client.ask(stageAsk(stage)))
  t.equal(stage.house.seen().length, 1)
}

async function goesAway(t: Test, stage: Stage): Promise<void> {
  stage.house.script((seen) => {
    const frames = framesFor(seen.path, { text: ['one', 'two'] })
    return sseAnswer(frames.slice(0, frames.findIndex((frame) => frame.includes('one')) + 1), { after: 'stall' })
  })
  const controller = new AbortController()
  await stage.client.ask(stageAsk(stage, { signal: controller.signal, onText: () => controller.abort() })).catch(() => undefined)
  const [seen] = stage.house.seen()
  t.ok(controller.signal.aborted && seen, 'text had come')
  t.ok((await seen.closed).aborted, 'the provider is hung up on')
}

async function fails(t: Test, stage: Stage): Promise<void> {
  const { client, house } = stage
  const expect = async (status: Status, asked: Promise<unknown>): Promise<void> => {
    const error = await asked.then(
      () => t.fail(`${status} did not come`),
      (reason: unknown) => reason,
    )
    t.equal((error as Error).constructor.name, client.classes[status], `class of ${status}`)
    t.equal(client.errorStatus(error), status)
    t.notMatch(String((error as Error).message), /provider-secret|the provider says no/)
  }
  house.script()
  await expect(400, client.ask(stageAsk(stage, { topP: 9 })))
  await expect(401, client.askAsStranger(stageAsk(stage)))
  await expect(404, client.ask({ ...stageAsk(stage), model: 'via/nothing' }))
  t.equal(house.seen().length, 0, 'no provider is asked')
  await limits(t, stage, (asked) => expect(429, asked))
}

const LIMITED = () => upstreamError(429, 'the provider says no', { 'retry-after': '1' })

/** Refusal with 429: its outcome depends on how often the client comes back by itself, after a second each time; of one provider is enough. */
async function limits(t: Test, { house, client, dialect, stream }: Stage, fails: (asked: Promise<unknown>) => Promise<void>): Promise<void> {
  const { retries = 0 } = client
  const ask = stageAsk({ house, client, dialect, stream })
  if (retries > 0 && dialect === 'openai-chat') {
    house.script(LIMITED, { text: ['at ', 'last'] })
    t.equal((await client.ask(ask)).text, 'at last', 'it waits and comes back')
    t.equal(house.seen().length, 2)
  }
  if (retries > 2 || (retries > 0 && (dialect !== 'openai-responses' || stream))) return
  house.script(...Array.from({ length: retries + 1 }, () => LIMITED))
  await fails(client.ask(ask))
  t.equal(house.seen().length, retries + 1)
}

/** Runs all of it against every upstream dialect, streaming and not. */
export async function exercise(root: Test, house: House, client: Client): Promise<void> {
  const { lacks = [], repeats } = certified(client.name)
  root.equal((client.retries ?? 0) > 0, repeats)
  for (const { ability, why, from = ['any'] } of lacks)
    root.comment(`${client.name} without ${ability} from ${from.join(', ')}: ${why}`)
  for (const dialect of DIALECTS)
    for (const stream of [false, true])
      await root.test(`${client.name} from ${dialect}${stream ? ', streaming' : ''}`, async (t) => {
        const stage: Stage = { house, client, dialect, stream }
        await t.test('text', (t) => speaks(t, stage))
        await t.test('tool', (t) => usesTools(t, stage))
        await t.test('parallel calls', (t) => callsTwoAtOnce(t, stage))
        await t.test('structured output', (t) => structures(t, stage))
        await t.test('image', (t) => sees(t, stage))
        await t.test('reasoning', (t) => reasons(t, stage))
        await t.test('errors', (t) => fails(t, stage))
        if (!stream) return
        await t.test('broken stream', (t) => breaks(t, stage))
        await t.test('abort', (t) => goesAway(t, stage))
      })
}
