/** Ends of answers in the words of each provider's wire, and what callers of each format see of it: in all lanes, whole and streamed. */
import root, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { readBody } from '../../support/body-text.ts'
import { editFrames, endedFrames, endedReply } from '../../support/ended.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { countLane, type Lane, lanesBetween } from '../../support/lanes.ts'
import { CLIENTS, type Client, PATHS, questionFor } from '../../support/providers.ts'
import { type ShownEnd, shownEnd } from '../../support/shown-end.ts'
import { jsonAnswer, type Script, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { ALL_WIRES, type AnyWireName, pathAnyWire, says, streamAnswer, type Utterance } from '../../support/wire.ts'

const t = root

const NAMES = Object.keys(ALL_WIRES) as AnyWireName[]
const TEXT: Utterance = { text: ['one ', 'two'] }
const ARGS = ['{"path":"/srv/', 'data","dry_run":true}']
const CUT = ['{"path":"/srv/data",', '"dry_run":tr']
const called = (args: readonly string[]): Utterance => ({ text: ['I look.'], calls: [{ id: 'call_1', name: 'look', args }] })
const TOOLS: Readonly<Record<Client, JsonObject>> = {
  chat: { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }] },
  responses: { tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }] },
  messages: { tools: [{ name: 'look', input_schema: { type: 'object' } }] },
}

/** unknown: kept, charged, and no success. failed: an error, and free. The other words are those of the canon. */
type Meaning = 'unknown' | 'failed' | 'length' | 'filter'

const ENDS: Readonly<Record<AnyWireName, readonly (readonly [word: Json, meaning: Meaning])[]>> = {
  'openai-chat': [
    ['a_new_word', 'unknown'],
    ['repetition', 'unknown'],
    [{ type: 'a_new_kind', matched: 2 }, 'unknown'],
    [7, 'unknown'],
    ['network_error', 'failed'],
    ['abort', 'failed'],
    ['insufficient_system_resource', 'failed'],
    ['malformed_function_call', 'failed'],
    ['function_call_filter: MALFORMED_FUNCTION_CALL', 'failed'],
    ['content_filter: PROHIBITED_CONTENT', 'filter'],
    ['stop: MALFORMED_FUNCTION_CALL', 'unknown'],
    ['time_limit', 'length'],
    [['stop'], 'unknown'],
    [{ type: 'abort', message: 'the server is shutting down' }, 'failed'],
    ['sensitive', 'filter'],
    ['guardrail_intervened', 'filter'],
    ['model_context_window_exceeded', 'length'],
  ],
  'openai-responses': [
    ['a_new_word', 'unknown'],
    ['steered', 'unknown'],
    ['max_messages', 'length'],
    ['content_filter', 'filter'],
  ],
  anthropic: [
    ['a_new_word', 'unknown'],
    ['model_context_window_exceeded', 'length'],
  ],
  'bedrock-anthropic': [['a_new_word', 'unknown']],
  gemini: [
    ['A_NEW_WORD', 'unknown'],
    ['MALFORMED_FUNCTION_CALL', 'failed'],
    ['UNEXPECTED_TOOL_CALL', 'failed'],
    ['TOO_MANY_TOOL_CALLS', 'failed'],
    ['MISSING_THOUGHT_SIGNATURE', 'failed'],
    ['OTHER', 'failed'],
    ['LANGUAGE', 'failed'],
    ['NO_IMAGE', 'failed'],
    ['SPII', 'filter'],
  ],
  'bedrock-converse': [
    ['a_new_word', 'unknown'],
    ['malformed_tool_use', 'failed'],
    ['malformed_model_output', 'failed'],
    ['guardrail_intervened', 'filter'],
  ],
}

/** Words by which one wire ends an answer that is no success; of another they mean nothing. Those that it knows too stand in `ENDS`. */
const OF_OTHERS = ['steered', 'max_messages', 'pause_turn', 'compaction']
const OWN: Readonly<Record<string, readonly AnyWireName[]>> = {
  steered: ['openai-responses'],
  max_messages: ['openai-responses'],
  pause_turn: ['anthropic', 'bedrock-anthropic'],
  compaction: ['anthropic', 'bedrock-anthropic'],
}
const wireEnds = (wire: AnyWireName): readonly (readonly [word: Json, meaning: Meaning])[] => [
  ...ENDS[wire],
  ...OF_OTHERS.filter((word) => !OWN[word].includes(wire)).map((word) => [word, 'unknown'] as const),
]

/** Errors that services of the chat wire write where they should write `error`: data of a frame, or a whole body. */
const ERRORS: readonly (JsonObject | string)[] = [
  { code: '1302', message: 'too many requests' },
  { code: 500, msg: 'boom' },
  { detail: 'Internal Server Error' },
  { detail: [{ loc: ['body'], msg: 'wrong', type: 'value_error' }] },
  { errors: [{ code: 7009, message: 'upstream' }], success: false, result: null },
  { success: false, errors: [], messages: ['no'] },
  { base_resp: { status_code: 1013, status_msg: 'internal' }, choices: null },
  { status: 503, title: 'Service Unavailable' },
  { type: 'error', message: 'overloaded' },
  { message: 'The server had an error' },
  { error: 'text alone' },
  { object: 'error', message: 'EngineCore died', code: 500 },
  'event',
]

interface Place {
  gateway: Gateway
  upstream: Upstream
  client: Client
  wire: AnyWireName
  lane: Lane
}

interface Shown extends ShownEnd {
  calledProvider: number
  cost: number
  status: string
}

/** Asks one endpoint, and reads the reply as a client of the format does. */
async function ask({ gateway, upstream, client, wire }: Place, stream: boolean, script: Script): Promise<Shown> {
  upstream.script = script
  const before = upstream.requests.length
  const spent = new Set([...gateway.running.store.journal.export()].map(({ id }) => id))
  const body = { ...questionFor(client), ...TOOLS[client], model: `m/${wire}`, stream }
  const response = await gateway.post(PATHS[client], body)
  const { text, isCut } = await readBody(response)
  const shown = shownEnd(client, { stream, status: response.status, text, isCut })
  const row = [...gateway.running.store.journal.export()].find(({ id }) => !spent.has(id))
  return {
    ...shown,
    calledProvider: upstream.requests.length - before,
    cost: Number(row?.settled?.cost ?? -1),
    status: row?.settled?.status ?? 'none',
  }
}

const answers =
  (wire: AnyWireName, frames: readonly string[], reply: JsonObject): Script =>
  (seen) =>
    pathAnyWire(seen.path).streams(seen) ? streamAnswer(ALL_WIRES[wire], frames) : jsonAnswer(reply)

/** Runs `body` for each client, lane and form of one wire. */
async function places(t: Test, wires: readonly AnyWireName[], body: (place: Place, stream: boolean, name: string) => Promise<void>) {
  const upstream = await startUpstream(says(TEXT))
  try {
    for (const lane of ['pass', 'observe', 'translate'] as const) {
      const providers = NAMES.map((name) => `${name}: { dialect: ${name}, base_url: "${upstream.url}/v1", key: "sk-secret" }`)
      const models = NAMES.map(
        (name) =>
          `m/${name}: { context: 128000, endpoints: [ { provider: ${name}, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } } ] }`,
      )
      const yaml = `providers:\n  ${providers.join('\n  ')}\nmodels:\n  ${models.join('\n  ')}\n`
      const gateway = await startGateway(yaml, { lane })
      try {
        for (const wire of wires)
          for (const client of CLIENTS) {
            // Other lanes than translation are for equal wires.
            const upstreamWire = wire === 'bedrock-anthropic' ? 'anthropic' : wire
            if (!lanesBetween(client, upstreamWire).includes(lane)) continue
            for (const stream of [false, true]) {
              countLane(root, lane)
              await body(
                { gateway, upstream, client, wire, lane },
                stream,
                `${client} → ${wire} in ${lane}, ${stream ? 'streamed' : 'whole'}`,
              )
            }
          }
      } finally {
        await gateway.close()
      }
    }
  } finally {
    await upstream.close()
  }
  t.pass('all places')
}

/** `native_finish_reason` of a word that may be more than a text. */
function nativeWord(word: Json): unknown {
  if (Array.isArray(word)) return 'list'
  return typeof word === 'object' ? (word as JsonObject).type : String(word)
}

/** Ends that callers of each format read for an end that is not known, and for one that is known and no success. */
function checkUnknown(t: Test, { client, wire }: Place, stream: boolean, shown: Shown, name: string): void {
  if (client === 'chat') t.same([shown.kind, shown.word], ['shown', 'error'], `${name}: finish_reason`)
  else if (client === 'responses')
    t.match(
      [shown.kind, shown.word],
      ['shown', wire === 'openai-responses' ? /^(content_filter|steered)$/ : /^content_filter$/],
      `${name}: incomplete`,
    )
  else t.same([shown.kind, shown.word], stream ? ['raised', 'api_error'] : ['shown', 'refusal'], `${name}: stop_reason or error event`)
  t.ok(shown.cost > 0, `${name}: what was delivered is charged`)
  t.equal(shown.status, 'incomplete', `${name}: in the ledger`)
}

t.test('every end word of every wire', async (t) => {
  await every(t, 'every place', async (t) => {
    await places(t, NAMES, async (place, stream, at) => {
      for (const [word, meaning] of wireEnds(place.wire))
        for (const utterance of [TEXT, called(ARGS)]) {
          const name = `${at}: ${JSON.stringify(word)}${utterance.calls ? ' with a call' : ''}`
          const { wire, client } = place
          const shown = await ask(place, stream, answers(wire, endedFrames(wire, utterance, word), endedReply(wire, utterance, word)))
          t.not(shown.kind, 'finished', `${name}: no success`)
          if (meaning === 'failed') {
            t.equal(shown.kind, 'raised', `${name}: an error`)
            t.equal(shown.cost, 0, `${name}: free`)
            continue
          }
          t.equal(shown.text, utterance.text?.join(''), `${name}: content is kept`)
          if (client === 'chat') t.equal(shown.native, nativeWord(word), `${name}: raw`)
          if (meaning === 'unknown') checkUnknown(t, place, stream, shown, name)
          else {
            t.equal(shown.kind, 'shown', name)
            t.match(shown.word, meaning === 'length' ? /length|max_|window/ : /filter|refusal/, name)
          }
        }
    })
  })
})

t.test('an unknown end without content is tried again elsewhere, whatever was counted', async (t) => {
  await every(t, 'every wire', async (t) => {
    for (const wire of NAMES)
      for (const [word, meaning] of wireEnds(wire)) {
        if (meaning !== 'unknown' && meaning !== 'failed') continue
        const bad = await startUpstream(answers(wire, endedFrames(wire, {}, word), endedReply(wire, {}, word)))
        const good = await startUpstream(says({ text: ['from the backup'] }))
        const gateway = await startGateway(`
providers:
  bad: { dialect: ${wire}, base_url: "${bad.url}/v1", key: "sk-bad" }
  good: { dialect: openai-chat, base_url: "${good.url}/v1", key: "sk-good" }
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: bad, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: good, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
`)
        try {
          for (const client of CLIENTS)
            for (const stream of [false, true]) {
              const before = bad.requests.length
              const response = await gateway.post(PATHS[client], { ...questionFor(client), stream, provider: { order: ['bad', 'good'] } })
              const name = `${client} → ${wire}, ${stream ? 'streamed' : 'whole'}: ${JSON.stringify(word)}`
              const { text, isCut } = await readBody(response)
              const shown = shownEnd(client, { stream, status: response.status, text, isCut })
              t.same([shown.kind, shown.text], ['finished', 'from the backup'], name)
              t.ok(bad.requests.length >= before, name)
            }
          t.ok(bad.requests.length > 0, `${wire}: the first endpoint was called`)
        } finally {
          await gateway.close()
          await Promise.all([bad.close(), good.close()])
        }
      }
  })
})

t.test('arguments that are no JSON are never those of a finished call', async (t) => {
  await every(t, 'every place', async (t) => {
    // Gemini has the arguments as objects.
    const wires = NAMES.filter((name) => name !== 'gemini')
    await places(t, wires, async (place, stream, at) => {
      const { wire } = place
      const utterance = called(CUT)
      for (const word of [undefined, 'a_new_word']) {
        const name = `${at}: ${word ?? 'a word of success'}`
        const shown = await ask(
          place,
          stream,
          answers(wire, endedFrames(wire, utterance, word), endedReply(wire, utterance, word, CUT.join(''))),
        )
        if (word === undefined) checkUnknown(t, place, stream, shown, name)
        else t.same([shown.kind, shown.cost], ['raised', 0], `${name}: the provider has broken off`)
        if (place.client === 'responses') t.same(shown.calls, [], `${name}: no item is complete`)
      }
    })
  })
})

t.test('no arguments are the empty object, and an object is text', async (t) => {
  await every(t, 'every place', async (t) => {
    await places(t, NAMES, async (place, stream, at) => {
      const { wire } = place
      const none = called([])
      const empty = await ask(
        place,
        stream,
        answers(
          wire,
          endedFrames(wire, none, undefined),
          endedReply(wire, none, undefined, wire === 'openai-chat' || wire === 'openai-responses' ? '' : undefined),
        ),
      )
      t.same([empty.kind, empty.calls], ['finished', ['{}']], `${at}: none`)
      if (wire === 'gemini') return
      const whole = called([JSON.stringify({ a: 1 })])
      const frames = wire.startsWith('bedrock') || wire === 'anthropic' ? endedFrames(wire, whole, undefined) : objectFrames(wire, whole)
      const object = await ask(place, stream, answers(wire, frames, endedReply(wire, whole, undefined, { a: 1 })))
      t.same([object.kind, object.calls], ['finished', ['{"a":1}']], `${at}: an object`)
    })
  })
})

/** Streams of the two wires of OpenAI whose arguments are objects. */
function objectFrames(wire: AnyWireName, utterance: Utterance): string[] {
  return editFrames(endedFrames(wire, utterance, undefined), (body) => {
    for (const choice of Array.isArray(body.choices) ? (body.choices as JsonObject[]) : []) {
      const { tool_calls: calls } = choice.delta as { tool_calls?: { function: { arguments: Json } }[] }
      for (const call of calls ?? []) if (call.function.arguments === '{"a":1}') call.function.arguments = { a: 1 }
    }
    if (body.type === 'response.function_call_arguments.delta') body.delta = ''
    if (body.arguments === '{"a":1}') body.arguments = { a: 1 }
  })
}

t.test('frames and bodies in which chat services report an error without the member for it', async (t) => {
  await every(t, 'every place', async (t) => {
    await places(t, ['openai-chat'], async (place, stream, at) => {
      for (const error of ERRORS) {
        for (const utterance of [TEXT, called(CUT)]) {
          const begun = endedFrames('openai-chat', utterance, undefined).slice(0, -3)
          const frame = typeof error === 'string' ? 'event: error\ndata: the engine is dead\n\n' : `data: ${JSON.stringify(error)}\n\n`
          const script: Script = (seen) =>
            seen.json.stream === true
              ? sseAnswer([...begun, frame, 'data: [DONE]\n\n'])
              : jsonAnswer(typeof error === 'string' ? {} : error)
          const shown = await ask(place, stream, script)
          t.same([shown.kind, shown.cost], ['raised', 0], `${at}: ${JSON.stringify(error)}`)
        }
      }
    })
  })
})

t.test('a stream of the chat wire with a call and no finish reason was interrupted', async (t) => {
  await every(t, 'every place', async (t) => {
    await places(t, ['openai-chat'], async (place, stream, at) => {
      if (!stream) return
      const begun = endedFrames('openai-chat', called(ARGS), undefined).slice(0, -3)
      for (const end of [['data: [DONE]\n\n'], []]) {
        const shown = await ask(place, stream, () => sseAnswer([...begun, ...end]))
        t.same([shown.kind, shown.cost], ['raised', 0], `${at}: ${end.length > 0 ? 'with' : 'without'} the mark`)
      }
    })
  })
})

t.test('two calls under one index and one id are two', async (t) => {
  const call = (name: string, args: string): JsonObject => ({
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name, arguments: args },
  })
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  const last = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`
  const pairs: [JsonObject, JsonObject][] = [
    [call('look', '{"a":1}'), call('look', '{"a":2}')],
    [call('look', '{"a":1}'), call('listen', '{"a":2}')],
  ]
  await every(t, 'every place', async (t) => {
    await places(t, ['openai-chat'], async (place, stream, at) => {
      for (const pair of pairs) {
        const frames = [
          ...pair.map((each) => chunk({ role: 'assistant', tool_calls: [each] })),
          chunk({}, 'tool_calls'),
          last,
          'data: [DONE]\n\n',
        ]
        const message = { role: 'assistant', content: null, tool_calls: pair }
        const reply = {
          id: 'c',
          object: 'chat.completion',
          created: 1,
          model: 'm',
          choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
          usage,
        }
        const shown = await ask(place, stream, answers('openai-chat', frames, reply))
        t.same([shown.kind, shown.calls], ['finished', ['{"a":1}', '{"a":2}']], `${at}: ${JSON.stringify(pair[1])}`)
      }
    })
  })
})
