/** Conversations with each server: the name of a conversation, and what is asked in no format. The model's words are in `model/vocabulary.ts`. */
import type { Asked, AskedTool } from '../support/matrix/asked.ts'

const WEATHER: AskedTool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const TIME: AskedTool = { name: 'get_time', description: 'The time.', schema: { type: 'object', properties: {} } }
const ANSWER = {
  name: 'answer',
  schema: {
    type: 'object',
    properties: { answer: { type: 'string' }, number: { type: 'integer' } },
    required: ['answer', 'number'],
    additionalProperties: false,
  },
}

const user = (...texts: string[]): Asked['turns'][number] => ({ user: texts.map((text) => ({ text })) })
const call = (id: string, city: string) => ({ id, name: 'get_weather', args: { city } })
const result = (id: string, text: string) => ({ id, parts: [{ text }] })

const UTTERANCES: Readonly<Record<string, Asked>> = {
  greeting: { turns: [user('hello')] },
  'with a system text': { system: 'Be short.', turns: [user('hello')] },
  'a text that it does not know': { turns: [user('What is a quokka?')] },
  'two parts': { turns: [user('hel', 'lo, hello')] },
  'a longer conversation': { turns: [user('hello'), { assistant: 'Hello! I am a tiny model.' }, user('count')] },
  'many scripts': { turns: [user('unicode')] },
  'many scripts in the prompt': { turns: [user('Grüße, 你好, 🙂🚀👩‍👩‍👧‍👦 hello')] },
  counting: { turns: [user('count')] },
  'cut by the cap': { turns: [user('count')], cap: 20 },
  'a cap above the context': { turns: [user('hello')], cap: 100_000 },
  'a stop text': { turns: [user('count')], stop: [' 9'] },
  'JSON in the text': { turns: [user('json')] },
  'without thinking': { turns: [user('hello')], effort: 'none' },
  'a tool call': { turns: [user('weather in Oslo')], tools: [WEATHER] },
  'two tool calls': { turns: [user('two weather')], tools: [WEATHER, TIME] },
  'a tool call behind a system text': { system: 'Use tools.', turns: [user('weather in Oslo')], tools: [TIME, WEATHER] },
  'tools that are not used': { turns: [user('hello')], tools: [WEATHER] },
  'tools switched off': { turns: [user('hello')], tools: [WEATHER], choice: 'none' },
  'a forced call': { turns: [user('weather in Oslo')], tools: [WEATHER], choice: 'required' },
  'the result of a tool': {
    turns: [user('weather in Oslo'), { calls: [call('call_1', 'Oslo')] }, { results: [result('call_1', '7 degrees')] }],
    tools: [WEATHER],
  },
  'the results of two tools': {
    turns: [
      user('two weather'),
      { calls: [call('call_1', 'Rome'), call('call_2', 'Lima')] },
      { results: [result('call_1', '7 degrees'), result('call_2', '{"degrees": 9}')] },
    ],
    tools: [WEATHER],
  },
  'a call without arguments': {
    turns: [user('hello'), { calls: [{ id: 'call_1', name: 'get_time', args: {} }] }, { results: [result('call_1', 'noon')] }],
    tools: [TIME],
  },
  'an answer by a schema': { turns: [user('json')], schema: ANSWER },
}

export const CONVERSATIONS = Object.entries(UTTERANCES).map(([name, asked]) => ({ name, asked: { cap: 400, temperature: 0, ...asked } }))

/** The call that the replay of a first turn is followed by. */
export const WEATHER_TURN: Asked = { turns: [user('weather in Oslo')], tools: [WEATHER], cap: 400, temperature: 0 }
export const resultFor = (id: string): Asked['turns'][number] => ({ results: [result(id, '7 degrees')] })

/** Text that it writes without end, at each server for longer than a caller waits here. */
export const FOREVER: Asked = { turns: [user('forever')], cap: 6000, temperature: 0 }
