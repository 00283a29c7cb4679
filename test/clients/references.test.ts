/**
 * Clients that refer to items of earlier responses by their ids unless they are set not to, and what comes of it where responses are not
 * stored: a reference to reasoning is left out and recorded; of one to a text the client says how it is set.
 */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, jsonSchema, type ModelMessage, tool } from 'ai'
import t from 'tap'
import { WEATHER, weatherSentence } from './support/client.ts'
import { DIALECTS, dialectModel, startHouse } from './support/house.ts'

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

const house = await startHouse(t)
const openai = createOpenAI({ baseURL: `${house.gateway.url}/v1`, apiKey: house.gateway.key })
const weather = tool({
  description: WEATHER.description,
  inputSchema: jsonSchema<{ place: string }>(WEATHER.schema as never),
  execute: (args) => weatherSentence(args),
})
const call = { id: 'call_a', name: 'weather', args: ['{"place":"Rome"}'] }

for (const dialect of DIALECTS) {
  const model = openai(dialectModel(dialect))

  t.test(`AI SDK with its defaults: a model of ${dialect} that thinks before it calls`, async (t) => {
    house.script({ reasoning: ['look outside'], signature: 'c2VhbGVk', calls: [call] }, { text: ['Wet.'] })
    const { text, response } = await generateText({ model, prompt: 'Rome?', tools: { weather }, stopWhen: isStepCount(3) })
    t.equal(text, 'Wet.')
    const [, second] = house.seen()
    t.match(second.body, weatherSentence({ place: 'Rome' }))
    t.notMatch(second.body, 'item_reference')
    const found = await house.gateway.get(`/v1/generation?id=${response.headers?.['x-generation-id']}`)
    t.match(await found.text(), '"input.item_reference"', 'the loss is recorded')
  })

  t.test(`AI SDK with its defaults: the text of a model of ${dialect} is in the client alone`, async (t) => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'Rome?' }]
    const ask = (store?: boolean) => generateText({ model, messages, ...(store === undefined ? {} : { providerOptions: { openai: { store } } }) })
    house.script({ text: ['It rains.'] }, { text: ['An umbrella.'] })
    messages.push(...(await ask()).response.messages, { role: 'user', content: 'What do I take along?' })
    const error = await ask().catch((thrown: unknown) => thrown)
    t.match((error as Error).message, /^input\[1\]\.id: .*Set store to false in the client.*providerOptions\.openai\.store/)
    t.equal(house.seen().length, 1, 'no provider gets half a conversation')
    t.equal((await ask(false)).text, 'An umbrella.', 'the cure helps')
    t.match(house.seen()[1].body, 'It rains.')
  })
}

t.test('AI SDK with its defaults: a sentence in front of a call is in the client alone, too', async (t) => {
  const ask = (store?: boolean) =>
    generateText({
      model: openai(dialectModel('openai-responses')),
      prompt: 'Rome?',
      tools: { weather },
      stopWhen: isStepCount(3),
      ...(store === undefined ? {} : { providerOptions: { openai: { store } } }),
    })
  house.script({ text: ['I look outside.'], calls: [call] }, { text: ['Wet.'] })
  const error = await ask().catch((thrown: unknown) => thrown)
  t.match((error as Error).message, /^input\[1\]\.id: .*providerOptions\.openai\.store/)
  t.equal(house.seen().length, 1)
  house.script({ text: ['I look outside.'], calls: [call] }, { text: ['Wet.'] })
  t.equal((await ask(false)).text, 'Wet.', 'the cure helps')
  t.match(house.seen()[1].body, 'I look outside.')
})

t.test('a response that is named as the previous one', async (t) => {
  const body = { model: dialectModel('openai-responses'), input: 'And?', previous_response_id: 'resp_1' }
  const reply = await house.gateway.post('/v1/responses', body)
  t.equal(reply.status, 400)
  t.match(await reply.text(), /previous_response_id: must be null.*store.*agent-framework: default_options/)
})
