/** The official OpenAI SDK over a WebSocket: its client for Responses does a task of several turns, over each format of provider. */
import OpenAI from 'openai'
import type { ResponseInput, ResponsesServerEvent } from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import t from 'tap'
import { DIALECTS, type House, dialectModel, startHouse } from './support/house.ts'

const house: House = await startHouse(t)
const openai = new OpenAI({ baseURL: `${house.gateway.url}/v1`, apiKey: house.gateway.key })

const TOOL = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'], additionalProperties: false },
  strict: true,
}

/** A connection, and its events one after the other. */
function connect(): { ws: ResponsesWS; next(): Promise<ResponsesServerEvent> } {
  const ws = new ResponsesWS(openai)
  const events = ws.stream()[Symbol.asyncIterator]()
  return {
    ws,
    next: async () => {
      for (;;) {
        const { value, done } = await events.next()
        if (done) throw new Error('the connection has ended')
        if (value.type === 'message') return value.message
        if (value.type === 'error') return value.error.error as ResponsesServerEvent
      }
    },
  }
}

for (const dialect of DIALECTS) {
  t.test(dialect, async (t) => {
    house.script(
      { reasoning: ['I should look.'], calls: [{ id: 'call_1', name: 'weather', args: ['{"place":', '"Oslo"}'] }] },
      { text: ['It is ', 'cold.'] },
    )
    const { ws, next } = connect()
    const respond = async (input: ResponseInput, previous?: string) => {
      ws.send({ type: 'response.create', model: dialectModel(dialect), tools: [TOOL], input, ...(previous ? { previous_response_id: previous } : {}) })
      let text = ''
      for (;;) {
        const event = await next()
        if (event.type === 'response.output_text.delta') text += event.delta
        if (event.type === 'response.completed') return { response: event.response, text }
        if (event.type === 'error' || event.type === 'response.failed') throw new Error(JSON.stringify(event))
      }
    }
    const first = await respond([{ role: 'user', content: 'How is the weather in Oslo?' }])
    const [call] = first.response.output.filter((item) => item.type === 'function_call')
    t.match(call, { name: 'weather', arguments: '{"place":"Oslo"}' })
    const output = { type: 'function_call_output' as const, call_id: String(call?.call_id), output: '-7 °C' }
    const second = await respond([output], first.response.id)
    t.equal(second.text, 'It is cold.')
    t.equal(second.response.previous_response_id, first.response.id)
    t.ok((second.response.usage?.total_tokens ?? 0) > 0)
    t.match(house.seen()[1]?.body, /How is the weather in Oslo\?[\s\S]*-7 °C/, 'the provider gets the whole conversation')
    ws.close()
  })
}

t.test('its error has the code, and the connection stays', async (t) => {
  const { ws, next } = connect()
  ws.send({ type: 'response.create', model: dialectModel('openai-responses'), previous_response_id: 'resp_gone', input: 'x' })
  t.match(await next(), { type: 'error', status: 400, error: { code: 'previous_response_not_found', param: 'previous_response_id' } })
  house.script({ text: ['fine'] })
  ws.send({ type: 'response.create', model: dialectModel('openai-responses'), input: 'Hello', generate: false })
  let type = ''
  while (type !== 'response.completed') type = (await next()).type
  t.equal(house.seen().length, 0, 'a warm-up calls no provider')
  ws.close()
})

t.test('two lanes of one connection, and a fork', async (t) => {
  house.script({ text: ['the plan'] }, { text: ['the plan'] }, { text: ['the plan'] })
  const { ws, next } = connect()
  const create = (stream_id: string, text: string, previous?: string) =>
    ws.send({
      type: 'response.create',
      stream_id,
      model: dialectModel('openai-chat'),
      input: text,
      ...(previous ? { previous_response_id: previous } : {}),
    })
  const ends = async (...lanes: string[]): Promise<Map<string, string>> => {
    const ids = new Map<string, string>()
    while (ids.size < lanes.length) {
      const event = await next()
      if (event.type === 'error' || event.type === 'response.failed') throw new Error(JSON.stringify(event))
      if (event.type === 'response.completed') ids.set(String(event.stream_id), event.response.id)
    }
    return ids
  }
  create('planner', 'Draft a plan.')
  create('research', 'List risks.')
  const ids = await ends('planner', 'research')
  t.same([...ids.keys()].sort(), ['planner', 'research'])
  create('critic', 'Find gaps.', ids.get('planner'))
  t.same([...(await ends('critic')).keys()], ['critic'])
  t.match(house.seen().at(-1)?.body, /Draft a plan[\s\S]*the plan[\s\S]*Find gaps/)
  ws.close()
})
