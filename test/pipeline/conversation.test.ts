/** Identity of a conversation. */
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { type GatewayFields, gatewayFields } from '../../src/dialects/canon/request-fields.ts'
import { conversationName, mayStay } from '../../src/pipeline/route/conversation.ts'
import type { Endpoint } from '../../src/routing/catalog/types.ts'
import { model, usdPerMillion } from '../routing/catalogue.ts'
import { property } from '../support/seed.ts'

const cheaper = { ...usdPerMillion('1', '1'), cached: usdPerMillion('0.1').prompt }
const [first, second] = model('acme/one', [{ price: cheaper }, 'other']).endpoints
const CHOICE: readonly Endpoint[] = [first, second]

function named(body: JsonObject, endpoints = CHOICE, header?: string): ReturnType<typeof conversationName> {
  const gateway: GatewayFields = gatewayFields(body, header)
  return conversationName({ body, gateway }, endpoints)
}

const name = (body: JsonObject): string | undefined => named(body)?.name
const chat = (...messages: [role: string, content: JsonObject[] | string][]): JsonObject => ({
  messages: messages.map(([role, content]) => ({ role, content })),
})

t.test('a conversation is not sticky where the caller sets the order of providers', async (t) => {
  t.equal(mayStay({ order: ['acme'] }, CHOICE), false)
  t.equal(mayStay({ order: ['nobody'] }, CHOICE), false, 'also where its list names none of the endpoints')
  t.equal(mayStay({ order: ['nobody'], order_from: 'account' }, CHOICE), true, 'but not where that list is the account’s')
  t.equal(mayStay({ order: [] }, CHOICE), true)
  t.equal(mayStay({}, CHOICE), true)
})

t.test('session_id of the body takes precedence over the header, and that over prompt_cache_key', async (t) => {
  const body = { ...chat(['user', 'Hello']), prompt_cache_key: 'key', session_id: 'session' }
  t.match(named(body, CHOICE, 'header'), { name: 'ssession', named: true })
  t.match(named({ ...body, session_id: '' }, CHOICE), { named: false }, 'an empty one is none')
  const { session_id: _, ...keyed } = body
  t.match(named(keyed, CHOICE, 'header'), { name: 'sheader', named: true })
  t.equal(name(keyed), name({ prompt_cache_key: 'key', input: 'other words' }))
  t.not(name(keyed), name(chat(['user', 'Hello'])))
})

t.test('a conversation without a session is not sticky with one candidate, or without a cheaper cache', async (t) => {
  const body = { ...chat(['user', 'Hello']), prompt_cache_key: 'key' }
  t.equal(named(body, [first]), undefined, 'one candidate')
  t.equal(named(body, [second, second]), undefined, 'no cache that is cheaper')
  t.match(named(body, [second], 'header'), { named: true })
})

t.test('the same conversation has the same name in every dialect', async (t) => {
  const parts = (text: string, type = 'text') => [{ type, text, cache_control: { type: 'ephemeral' } }]
  const forms: JsonObject[] = [
    chat(['system', 'Be terse.'], ['user', 'Hello']),
    chat(['developer', parts('Be terse.')], ['user', parts('Hello')], ['assistant', 'Hi'], ['user', 'more']),
    { instructions: 'Be terse.', input: 'Hello' },
    { instructions: 'Be terse.', input: [{ role: 'user', content: parts('Hello', 'input_text') }, { type: 'function_call' }] },
    {
      input: [
        { type: 'message', role: 'developer', content: 'Be terse.', id: 'msg_1' },
        { role: 'user', content: 'Hello' },
      ],
    },
    { system: parts('Be terse.'), ...chat(['user', 'Hello']) },
  ]
  t.equal(new Set(forms.map(name)).size, 1)
})

t.test('what differs in the opening is another conversation', async (t) => {
  const long = 'x'.repeat(10_000)
  const image = (url: string) => [{ type: 'image_url', image_url: { url } }]
  const all = [
    chat(['user', 'Hello']),
    chat(['user', 'Hello!']),
    chat(['system', 'Hello'], ['user', '']),
    chat(['system', ''], ['user', 'Hello']),
    chat(['user', long]),
    chat(['user', `${long}y`]),
    chat(['user', image('https://one.example/')]),
    chat(['user', image('https://two.example/')]),
  ]
  t.equal(new Set(all.map(name)).size, all.length - 1, 'an empty instruction is as good as none')
  t.equal(name({ messages: [] }), undefined, 'nobody has spoken')
  t.equal(name(chat(['system', 'only'])), undefined)
  t.equal(name({}), undefined)
})

t.test('no word of the prompt is in the name, which never grows', async (t) => {
  fc.assert(
    fc.property(fc.string({ minLength: 4, maxLength: 3000 }), fc.array(fc.string(), { maxLength: 5 }), (text, later) => {
      const opening: [string, string][] = [
        ['system', text],
        ['user', text],
      ]
      const found = name(chat(...opening)) ?? ''
      if (found.length !== 44 || (text.length > 8 && found.includes(text))) throw new Error(found)
      const more = name(chat(...opening, ...later.map((content): [string, string] => ['user', content])))
      if (more !== found) throw new Error('what is said later must not matter')
    }),
    property(300, 20_000),
  )
  t.pass()
})
