/** Schemas of tools and answers in the subset that Moonshot takes, against its stand-in. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { MfjsFitter } from '../../src/dialects/chat/moonshot-schema.ts'
import { every } from '../support/every.ts'
import { list, object } from '../support/fold.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { droppedAt, send, startMatrix } from './matrix.ts'
import { moonshot } from './rules/moonshot.ts'
import { unflavored } from './rules/moonshot-schema.ts'

const matrix = await startMatrix(t, [moonshot])
const [standIn] = matrix.standIns
const [{ slug }] = moonshot.models
const TEXT = { type: 'string' }

/** Each is refused as it stands, and what of it is lost is named. */
const REFUSED: Readonly<Record<string, readonly [parameters: JsonObject, lost?: readonly string[]]>> = {
  // github.com/MoonshotAI/kimi-code/issues/2661
  'alternatives beside the type of the root': [
    {
      type: 'object',
      anyOf: [
        { type: 'object', properties: { name: TEXT, content: TEXT }, required: ['name', 'content'] },
        { type: 'object', properties: { name: TEXT, url: TEXT }, required: ['name', 'url'] },
      ],
    },
    ['tools.parameters.anyOf'],
  ],
  // github.com/openJiuwen-ai/jiuwenswarm/issues/3942
  'alternatives beside a type': [{ type: 'object', properties: { value: { type: 'string', anyOf: [{ enum: ['a'] }, { minLength: 3 }] } } }],
  // github.com/anomalyco/opencode/issues/39995
  'a list of items': [{ type: 'object', properties: { pair: { type: 'array', items: [TEXT, TEXT] } } }, ['tools.parameters.items']],
  'a reference to a property': [{ type: 'object', properties: { from: TEXT, to: { $ref: '#/properties/from', description: 'Where to' } } }],
  'definitions of draft 7': [
    {
      type: 'object',
      properties: { at: { $ref: '#/definitions/place' } },
      definitions: { place: { type: 'object', properties: { city: TEXT } } },
    },
  ],
  // github.com/earendil-works/pi/issues/4138
  'a property without a type': [{ type: 'object', properties: { any: {}, also: { description: 'Anything' } } }],
  // github.com/can1357/oh-my-pi/issues/5952
  'a schema that is true': [{ type: 'object', properties: { output: true } }],
  'a text or nothing, with a length': [{ type: 'object', properties: { note: { type: ['string', 'null'], minLength: 1 } } }],
  'values of two types': [{ type: 'object', properties: { level: { enum: ['low', 3] } } }],
  'a required property that is not there': [{ type: 'object', required: ['id'] }],
  'a property with the name of a keyword': [
    { type: 'object', properties: { required: { type: 'boolean' }, id: TEXT } },
    ['tools.parameters.properties.required'],
  ],
  'parts that all hold': [
    {
      allOf: [
        { type: 'object', properties: { a: TEXT } },
        { properties: { b: TEXT }, required: ['b'] },
      ],
    },
  ],
}

for (const client of CLIENTS)
  t.test(`schemas of tools, ${client.id}`, async (t) => {
    for (const [name, [schema, lost]] of Object.entries(REFUSED))
      await every(t, name, async (t) => {
        t.ok(unflavored(schema) !== undefined || schema.type !== 'object', 'refused as it stands')
        const body = client.write({ turns: [{ user: [{ text: 'Hello' }] }], tools: [{ name: 'look', description: 'Looks', schema }] })
        const reply = await send(matrix.gateway, { client, stream: false }, { model: slug, ...body })
        if (typeof reply === 'string') t.fail(`${reply} ${JSON.stringify(standIn.refused.at(-1))}`)
        else t.match(await droppedAt(matrix.gateway, reply.id), lost ?? [])
      })
  })

t.test('what a schema says is kept', async (t) => {
  const fit = (schema: JsonObject): JsonObject => new MfjsFitter().fit(schema, true, () => {})
  await every(t, 'kept', async (t) => {
    t.same(object(fit({ type: 'object', properties: { note: { type: ['string', 'null'], minLength: 1 } } }).properties).note, {
      anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }],
    })
    t.same(object(fit({ type: 'object', properties: { x: { const: 'y', description: 'd' } } }).properties).x, {
      description: 'd',
      type: 'string',
      enum: ['y'],
    })
    const tree = fit({
      type: 'object',
      properties: { node: { $ref: '#/$defs/n' } },
      $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } },
    })
    t.same(tree.$defs, { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } }, 'a schema that refers to itself')
    const plain = {
      type: 'object',
      properties: { city: { type: 'string', description: 'A city' } },
      required: ['city'],
      additionalProperties: false,
    }
    t.same(fit(plain), plain)
  })
})

t.test('the schema of an answer', async (t) => {
  const schema = {
    type: 'object',
    properties: { degrees: { type: ['number', 'null'], minimum: -100 }, kind: { oneOf: [TEXT, { type: 'null' }] } },
  }
  const response_format = { type: 'json_schema', json_schema: { name: 'weather', schema, strict: true } }
  standIn.utterance = { text: ['{"degrees":1}'] }
  const response = await matrix.gateway.post('/v1/chat/completions', {
    model: slug,
    messages: [{ role: 'user', content: 'Oslo' }],
    response_format,
  })
  await response.text()
  t.equal(response.status, 200, JSON.stringify(standIn.refused.at(-1)))
  t.match(await droppedAt(matrix.gateway, response.headers.get('x-generation-id') ?? ''), ['response_format.schema.oneOf'])
})

t.test('a schema that multiplies what it holds costs little, and goes as it is', async (t) => {
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`p${index}`, TEXT]))
  const schema = {
    type: 'object',
    properties: { x: { properties: wide, anyOf: Array.from({ length: 900 }, () => ({ required: ['p1'] })) } },
  }
  t.equal(
    new MfjsFitter().fit(schema, true, () => {}),
    schema,
  )
  const self = {
    allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }, { type: 'object' }],
    $defs: { a: { properties: { a: { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#' }, {}] } } } },
  }
  t.ok(list([new MfjsFitter().fit(self, true, () => {})]).length === 1, 'one that holds itself ends')
})

t.test('a schema that goes as it is loses nothing, and leaves the next one its share', async (t) => {
  const fitter = new MfjsFitter()
  const lost: string[] = []
  const $defs = Object.fromEntries(
    Array.from({ length: 28 }, (_, index) => {
      const $ref = `#/$defs/d${index + 1}`
      return [`d${index}`, { oneOf: [{ properties: { l: { $ref, not: {} }, r: { $ref, not: {} } } }] }]
    }),
  )
  const doubling: JsonObject = { type: 'object', properties: { x: { $ref: '#/$defs/d0', not: {} } }, $defs }
  t.equal(
    fitter.fit(doubling, true, (keyword) => lost.push(keyword)),
    doubling,
  )
  t.same(lost, [])
  const plain: JsonObject = {
    type: 'object',
    properties: { to: { type: ['string', 'null'], minLength: 1, description: 'Where to go next' } },
  }
  t.same(object(fitter.fit(plain, true, () => {}).properties).to, {
    description: 'Where to go next',
    anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }],
  })
})
