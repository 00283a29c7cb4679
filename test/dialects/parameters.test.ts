/** Each dialect's table of parameters tells the truth: what it sends arrives in the named field, what it drops is recorded and gone. */
import t, { type Test } from 'tap'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { PARAMETER_NAMES, type ParameterName } from '../../src/core/parameters.ts'
import { clientDialects, upstreamDialects } from '../../src/dialects/registry.ts'
import type { Encoded, Target, UpstreamDialect } from '../../src/dialects/types.ts'
import { every } from '../support/every.ts'
import { readSample as plainSample } from '../support/parameter-samples.ts'

interface Sample {
  client: 'chat' | 'responses'
  /** Field that states the parameter. */
  fields: JsonObject
  /** Fields without which the parameter means nothing; part of the body that it is compared with. */
  beside?: JsonObject
  /** A value of the parameter that a wire hands on as it is; absent where every wire has words of its own. */
  mark?: Json
}

const hello = { role: 'user', content: 'Hello' }
const tools = [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object', properties: {} } } }]
const chat = (fields: JsonObject, more: Omit<Sample, 'client' | 'fields'> = {}): Sample => ({ client: 'chat', fields, ...more })
const responses = (fields: JsonObject, more: Omit<Sample, 'client' | 'fields'> = {}): Sample => ({ client: 'responses', fields, ...more })

const MARKED = { type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }

/** Samples of parameters that are no plain numbers or texts of chat. */
const SAMPLES: Readonly<Partial<Record<ParameterName, Sample>>> = {
  stop: chat({ stop: ['mk-stop'] }, { mark: 'mk-stop' }),
  logit_bias: chat({ logit_bias: { '50256': -57.25 } }, { mark: -57.25 }),
  logprobs: chat({ logprobs: true }),
  top_logprobs: chat({ top_logprobs: 13 }, { beside: { logprobs: true }, mark: 13 }),
  tools: chat(
    { tools: [{ type: 'function', function: { name: 'mk_tool', parameters: { type: 'object', properties: {} } } }] },
    { mark: 'mk_tool' },
  ),
  tool_choice: chat({ tool_choice: 'required' }, { beside: { tools } }),
  parallel_tool_calls: chat({ parallel_tool_calls: false }, { beside: { tools } }),
  response_format: chat({
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object', properties: {} } } },
  }),
  structured_outputs: chat(
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object', properties: { mk_member: {} } } } } },
    { mark: 'mk_member' },
  ),
  reasoning: chat({ reasoning: { effort: 'low' } }, { beside: { max_tokens: 20000 } }),
  verbosity: chat({ verbosity: 'low' }, { mark: 'low' }),
  service_tier: chat({ service_tier: 'default' }),
  modalities: chat({ modalities: ['text', 'image'] }),
  audio: chat({ audio: { voice: 'mk-voice', format: 'wav' } }, { mark: 'mk-voice' }),
  image_config: chat({ image_config: { aspect_ratio: '21:9' } }, { mark: '21:9' }),
  prediction: chat({ prediction: { type: 'content', content: 'mk-prediction' } }, { mark: 'mk-prediction' }),
  web_search_options: chat({ web_search_options: { search_context_size: 'mk-size' } }, { mark: 'mk-size' }),
  metadata: responses({ metadata: { key: 'mk-pair' } }, { mark: 'mk-pair' }),
  prompt_cache_options: responses({ prompt_cache_options: { mode: 'explicit', ttl: 'mk-ttl' } }, { mark: 'mk-ttl' }),
  cache_control: chat(
    { messages: [{ role: 'user', content: [MARKED, { type: 'text', text: 'there' }] }] },
    {
      beside: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Hello' },
              { type: 'text', text: 'there' },
            ],
          },
        ],
      },
    },
  ),
  truncation: responses({ truncation: 'auto' }, { mark: 'auto' }),
  include: responses({ include: ['message.output_text.logprobs'] }),
  prefill: chat({ messages: [hello, { role: 'assistant', content: 'mk-begun' }] }, { mark: 'mk-begun' }),
}

/** A mark on the whole request, for wires that take one there instead of on parts. */
const MARKED_WHOLE = chat({ cache_control: { type: 'ephemeral' } })

function parameterSample(name: ParameterName, field: string | undefined): Sample {
  if (name === 'cache_control' && field === 'cache_control') return MARKED_WHOLE
  const value = plainSample(name)
  return SAMPLES[name] ?? chat({ [name]: value }, { mark: value })
}

const TARGET: Target = { model: 'up-1', stream: false, quirks: {}, user: 'pass', maxOutput: 32000 }
const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' }
const BARE = { chat: { messages: [hello] }, responses: { input: 'Hello' } }

function encode(dialect: UpstreamDialect, client: Sample['client'], fields: JsonObject): Encoded {
  const speaker = clientDialects.get(PATHS[client])
  if (!speaker) throw new Error(`no client ${client}`)
  const body: JsonObject = { model: 'author/name', ...BARE[client], ...fields }
  speaker.check(body)
  return dialect.encodeRequest(speaker.decodeRequest(body), TARGET)
}

/** Everything that stands at a path such as `input[].content[].text` or `messages[-1]`. */
function at(value: Json | undefined, path: string): Json[] {
  let found: (Json | undefined)[] = [value]
  for (const [, name, index] of path.matchAll(/([\w-]+)|\[(-?\d*)\]/g)) {
    if (name !== undefined) found = found.map((each) => (isObject(each) ? each[name] : undefined))
    else if (index === '') found = found.flatMap((each) => (Array.isArray(each) ? each : []))
    else found = found.map((each) => (Array.isArray(each) ? each.at(Number(index)) : undefined))
  }
  return found.filter((each) => each !== undefined)
}

/** True where the mark is a leaf of the value, or the name of a member in it, or in JSON text that it holds. */
function holds(value: Json | undefined, mark: Json): boolean {
  if (value === mark) return true
  if (typeof value === 'string' && value.startsWith('{')) return value.includes(JSON.stringify(mark))
  if (Array.isArray(value)) return value.some((each) => holds(each, mark))
  return isObject(value) && Object.entries(value).some(([key, each]) => key === mark || holds(each, mark))
}

/** The body, with headers beside its fields. */
function bodyWithHeaders({ body, headers = [] }: Encoded): JsonObject {
  return { ...body, ...Object.fromEntries(headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? null]] : []))) }
}

function arrives(t: Test, field: string, sample: Sample, sent: Encoded, without: Encoded): void {
  const found = at(bodyWithHeaders(sent), field)
  t.not(found.length, 0, `${field} is there`)
  t.notSame(found, at(bodyWithHeaders(without), field), `${field} is there because it was asked for`)
  const { mark } = sample
  if (mark !== undefined) t.ok(holds(found, mark), `${field} holds ${JSON.stringify(mark)}: ${JSON.stringify(found)}`)
}

function isGone(t: Test, sample: Sample, sent: Encoded, without: Encoded): void {
  const { mark } = sample
  if (mark !== undefined) t.notOk(holds(sent.body, mark), `${JSON.stringify(mark)} is not sent`)
  t.same(sent.body, without.body, 'what is sent is as if it had not been asked')
}

for (const dialect of upstreamDialects.values()) {
  t.test(dialect.id, async (t) => {
    t.same(Object.keys(dialect.parameters).sort(), [...PARAMETER_NAMES].sort(), 'every parameter has an outcome')
    for (const name of PARAMETER_NAMES) {
      await every(t, name, (t) => {
        const outcome = dialect.parameters[name]
        const sample = parameterSample(name, 'as' in outcome ? outcome.as : undefined)
        const sent = encode(dialect, sample.client, { ...sample.beside, ...sample.fields })
        if (dialect.run) {
          t.equal(sent.path, '', 'nothing is sent anywhere')
          return
        }
        const without = encode(dialect, sample.client, sample.beside ?? {})
        if ('refused' in outcome) t.match(outcome.refused, /\w+ \w+/, 'the reason is told')
        else if ('as' in outcome) {
          arrives(t, outcome.as, sample, sent, without)
          t.notOk(sent.dropped.includes(name), 'what is sent is not recorded as dropped')
        } else {
          // What the gateway does itself is left out of the body as well; that it is no loss is known where it is called.
          t.match('here' in outcome ? outcome.here : outcome.dropped, /\w+ \w+/, 'the reason is told')
          t.ok(sent.dropped.includes(name), `recorded: ${sent.dropped.join(', ')}`)
          isGone(t, sample, sent, without)
        }
      })
    }
  })
}
