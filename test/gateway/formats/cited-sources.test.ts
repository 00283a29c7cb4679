/**
 * Sources that providers of the chat wire show in words of their own reach callers of all formats as annotations or citations: numbers of
 * Perplexity, executed tools of Groq, references of Mistral. The replies have the form of the providers' own types, and one is recorded.
 */
import assert from 'node:assert/strict'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ASK_WAYS, askGateway, askName, type Format, streamEvents } from '../../support/asking.ts'
import { list, object } from '../../support/fold.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'

interface Source {
  url: string
  title: string
  /** The cited text of the answer; undefined where the source is named without a place. */
  at: string | undefined
  content: string
}

/** Sources of an answer as each format states them, in one form; `text` is the whole answer. */
function sourcesIn(format: Format, raw: string, text: string): Source[] {
  const isStream = !raw.startsWith('{')
  const events = isStream ? streamEvents(raw) : []
  const whole = isStream ? {} : (JSON.parse(raw) as JsonObject)
  const spanned = (flat: JsonObject): Source => ({
    url: String(flat.url),
    title: String(flat.title),
    at: flat.end_index === 0 ? undefined : text.slice(Number(flat.start_index), Number(flat.end_index)),
    content: String(flat.content ?? ''),
  })
  if (format === 'chat') {
    const messages = isStream
      ? events.flatMap(({ choices }) => list(choices).map(({ delta }) => object(delta)))
      : list(whole.choices).map(({ message }) => object(message))
    return messages.flatMap(({ annotations }) => list(annotations).map((each) => spanned(object(each.url_citation))))
  }
  if (format === 'responses') {
    const response = isStream ? object(events.find(({ type }) => type === 'response.completed')?.response) : whole
    const parts = list(response.output).flatMap(({ content }) => list(content))
    return parts.flatMap(({ annotations }) => list(annotations).map(spanned))
  }
  const citations = isStream
    ? events.flatMap(({ delta }) => (object(delta).type === 'citations_delta' ? [object(object(delta).citation)] : []))
    : list(whole.content).flatMap((block) => list(block.citations))
  return citations.map(({ url, title, cited_text }) => ({
    url: String(url),
    title: String(title),
    at: undefined,
    content: String(cited_text),
  }))
}

/** Citations of Messages speak for their whole block. */
const inFormat = (format: Format, sources: readonly Source[]): Source[] =>
  sources.map((source) => (format === 'messages' ? { ...source, at: undefined } : source))

async function behind(
  t: Test,
  preset: string,
  answer: (seen: Seen) => Answer,
  endpoint = '',
): Promise<{ gateway: Gateway; upstream: Upstream }> {
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  const gateway = await startGateway(`
providers: { one: { preset: ${preset}, base_url: "${upstream.url}", key: sk-provider-1 } }
models:
  acme/one: { context: 100000, endpoints: [ { provider: one, model: m, price: { prompt: "1", completion: "2", web_search: "0.005" }${endpoint} } ] }
`)
  t.teardown(() => gateway.close())
  return { gateway, upstream }
}

/** A reply in the provider's own form, whole or as chunks. */
function replying(chunks: readonly JsonObject[], whole: JsonObject): (seen: Seen) => Answer {
  return (seen) =>
    seen.json.stream === true
      ? sseAnswer([...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'])
      : jsonAnswer(whole)
}

/** npm @perplexity-ai/perplexity_ai 0.38.5: `CompletionResponse`, `Choice` (delta and message in each chunk), `UsageInfo`. */
const PERPLEXITY_TEXT = 'Oslo is wet[1][3]. Bergen is wetter[2].'
const RESULTS = [
  {
    title: 'Oslo',
    url: 'https://weather.example/oslo',
    date: '2026-11-20',
    last_updated: '2026-11-20',
    snippet: 'Rain in Oslo.',
    source: 'web',
  },
  { title: 'Bergen', url: 'https://weather.example/bergen', date: null, last_updated: null, snippet: 'More rain.', source: 'web' },
  { title: 'Norway', url: 'https://weather.example/norway', date: null, last_updated: null, snippet: '', source: 'web' },
  { title: 'Unused', url: 'https://weather.example/unused', date: null, last_updated: null, snippet: 'Sun.', source: 'web' },
]
const PERPLEXITY_USAGE = {
  prompt_tokens: 10,
  completion_tokens: 20,
  total_tokens: 30,
  search_context_size: 'low',
  cost: { input_tokens_cost: 0.00001, output_tokens_cost: 0.00004, request_cost: 0.005, total_cost: 0.00505 },
}
const PERPLEXITY_LATE = { citations: RESULTS.map(({ url }) => url), search_results: RESULTS, usage: PERPLEXITY_USAGE }
const perplexityHead = (object: string) => ({ id: 'ppl-1', model: 'sonar-pro', created: 1_795_000_000, object })

function perplexity(): (seen: Seen) => Answer {
  const pieces = ['Oslo is wet[', '1', '][3]. Bergen is wet', 'ter[2].']
  let so_far = ''
  const chunks = pieces.map((content, index) => {
    so_far += content
    const isLast = index === pieces.length - 1
    const choice = {
      index: 0,
      finish_reason: isLast ? 'stop' : null,
      message: { role: 'assistant', content: so_far },
      delta: { role: 'assistant', content },
    }
    return {
      ...perplexityHead('chat.completion.chunk'),
      choices: [choice],
      // "Search results and metadata are delivered in the final chunk(s)" (docs.perplexity.ai, Streaming).
      ...(isLast ? { ...PERPLEXITY_LATE, related_questions: ['And Trondheim?'] } : {}),
    }
  })
  const choice = {
    index: 0,
    finish_reason: 'stop',
    message: { role: 'assistant', content: PERPLEXITY_TEXT },
    delta: { role: 'assistant', content: '' },
  }
  return replying(chunks, {
    ...perplexityHead('chat.completion'),
    choices: [choice],
    ...PERPLEXITY_LATE,
    related_questions: ['And Trondheim?'],
  })
}

t.test('numbers of Perplexity', async (t) => {
  const { gateway } = await behind(t, 'perplexity', perplexity())
  const expected: Source[] = [
    { url: 'https://weather.example/oslo', title: 'Oslo', at: '[1]', content: 'Rain in Oslo.' },
    { url: 'https://weather.example/norway', title: 'Norway', at: '[3]', content: '' },
    { url: 'https://weather.example/bergen', title: 'Bergen', at: '[2]', content: 'More rain.' },
    { url: 'https://weather.example/unused', title: 'Unused', at: undefined, content: 'Sun.' },
  ]
  for (const way of ASK_WAYS) {
    const { status, raw, reply } = await askGateway(gateway, way)
    t.equal(status, 200, askName(way))
    t.equal(reply.text, PERPLEXITY_TEXT, `${askName(way)}: the text`)
    t.strictSame(sourcesIn(way.format, raw, PERPLEXITY_TEXT), inFormat(way.format, expected), `${askName(way)}: the sources`)
    if (way.format === 'chat') t.match(raw, '"related_questions":["And Trondheim?"]', `${askName(way)}: what is the provider’s own stays`)
  }
})

/** Recorded: test_groq_web_search_tool_domain_filters (shortened); streamed as npm groq-sdk 1.6.0, `ChatCompletionChunk.Choice.Delta.ExecutedTool`. */
const SEARCH = { index: 0, type: 'search', arguments: '{"query": "latest stable version of Python"}' }
const VISIT = { index: 1, type: 'visit', arguments: '{"url": "https://www.python.org/downloads/"}' }
const FOUND = {
  images: [],
  results: [
    { title: 'Python latest', url: 'https://discuss.python.org/t/24563', content: 'Hi All', score: 0.9 },
    { title: 'Downloads', url: 'https://www.python.org/downloads/', content: 'Python 3.14', score: 0.8 },
  ],
}
const EXECUTED = [
  { ...SEARCH, output: 'Title: Python latest', search_results: FOUND },
  { ...VISIT, output: 'Title: www.python.org', search_results: { results: [] } },
]
const GROQ_TEXT = 'Python 3.14 is the latest stable version.'
const GROQ_USAGE = {
  prompt_tokens: 14_100,
  completion_tokens: 921,
  total_tokens: 15_021,
  prompt_time: 0.6,
  completion_time: 1.9,
  total_time: 2.5,
}

function groq(): (seen: Seen) => Answer {
  const head = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_795_000_000,
    model: 'groq/compound',
    system_fingerprint: null,
  }
  const chunk = (delta: JsonObject, more: JsonObject = {}): JsonObject => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
    ...more,
  })
  const chunks = [
    chunk({ role: 'assistant', content: '' }, { x_groq: { id: 'req_1' } }),
    chunk({ reasoning: 'I look it up.' }),
    chunk({ executed_tools: [SEARCH] }),
    chunk({ executed_tools: EXECUTED.slice(0, 1) }),
    chunk({ executed_tools: EXECUTED.slice(1) }),
    ...['Python 3.14', ' is the latest', ' stable version.'].map((content) => chunk({ content })),
    { ...head, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }], x_groq: { id: 'req_1', usage: GROQ_USAGE } },
  ]
  const message = { role: 'assistant', content: GROQ_TEXT, reasoning: 'I look it up.', executed_tools: EXECUTED }
  return replying(chunks, {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: GROQ_USAGE,
    x_groq: { id: 'req_1' },
  })
}

t.test('executed tools of Groq', async (t) => {
  const { gateway } = await behind(t, 'groq', groq())
  const expected: Source[] = [
    { url: 'https://discuss.python.org/t/24563', title: 'Python latest', at: undefined, content: 'Hi All' },
    { url: 'https://www.python.org/downloads/', title: 'Downloads', at: undefined, content: 'Python 3.14' },
  ]
  for (const way of ASK_WAYS) {
    const { status, raw, reply, body } = await askGateway(gateway, way)
    t.equal(status, 200, askName(way))
    t.equal(reply.text, GROQ_TEXT, `${askName(way)}: the text`)
    t.strictSame(sourcesIn(way.format, raw, GROQ_TEXT), expected, `${askName(way)}: the sources`)
    if (way.format === 'chat') t.match(raw, '"executed_tools":[', `${askName(way)}: what is the provider’s own stays`)
    // 14,100 at 1 and 921 at 2 dollars for a million tokens, and one search; the visit is none.
    t.equal(object(body.usage).cost, 0.020942, `${askName(way)}: the search is charged`)
  }
})

t.test('executed tools of Groq in a reply without usage', async (t) => {
  const message = { role: 'assistant', content: GROQ_TEXT, executed_tools: EXECUTED }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
  const reply = { id: 'chatcmpl-1', object: 'chat.completion', created: 1_795_000_000, model: 'groq/compound', choices }
  const { gateway } = await behind(t, 'groq', replying([], reply))
  const way = ASK_WAYS.find((each) => each.format === 'chat' && !each.stream)
  assert.ok(way)
  const { status, raw } = await askGateway(gateway, way)
  t.equal(status, 200)
  t.equal(sourcesIn('chat', raw, GROQ_TEXT).length, 2)
})

/** docs.mistral.ai/capabilities/citations: the tool's result, and the answer to it. */
const REFERENCES = {
  0: {
    url: 'https://en.wikipedia.org/wiki/2024_Nobel_Peace_Prize',
    title: '2024 Nobel Peace Prize',
    snippets: [['It was awarded to Nihon Hidankyo.', 'In Oslo.']],
    description: null,
    source: 'wikipedia',
  },
  1: { url: 'https://en.wikipedia.org/wiki/Climate_Change', title: 'Climate Change', snippets: [['Warming.']], description: null },
}
const MISTRAL_TEXT = 'The prize was awarded to Nihon Hidankyo. Elsewhere it warms.'
const text = (of: string): JsonObject => ({ type: 'text', text: of })
const PARTS = [
  text('The prize was awarded to '),
  text('Nihon Hidankyo'),
  { type: 'reference', reference_ids: [0] },
  text('. Elsewhere it warms'),
  { type: 'reference', reference_ids: ['1', 7] },
  text('.'),
]

function mistral(): (seen: Seen) => Answer {
  const head = { id: 'm-1', object: 'chat.completion.chunk', created: 1_795_000_000, model: 'mistral-large-latest' }
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
  const chunk = (content: string | JsonObject[], more: JsonObject = {}): JsonObject => ({
    ...head,
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
    ...more,
  })
  const chunks = [
    { ...head, choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
    ...['The prize', ' was awarded', ' to '].map((piece) => chunk(piece)),
    chunk('Nihon Hidankyo'),
    chunk([PARTS[2] as JsonObject]),
    chunk('. Elsewhere it warms'),
    chunk([PARTS[4] as JsonObject]),
    { ...head, choices: [{ index: 0, delta: { content: '.' }, finish_reason: 'stop' }], usage },
  ]
  const message = { role: 'assistant', content: PARTS, tool_calls: null }
  return replying(chunks, { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
}

/** The conversation of the page in each format; `result` is what the caller's function has returned. */
function conversation(format: Format, result: string): JsonObject {
  const question = 'Who won the Nobel Prize in 2024?'
  if (format === 'responses')
    return {
      input: [
        { role: 'user', content: question },
        { type: 'function_call', call_id: 'F4HiRgdZp', name: 'get_information', arguments: '{}' },
        { type: 'function_call_output', call_id: 'F4HiRgdZp', output: result },
      ],
    }
  if (format === 'messages')
    return {
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'F4HiRgdZp', name: 'get_information', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'F4HiRgdZp', content: result }] },
      ],
    }
  const call = { id: 'F4HiRgdZp', type: 'function', function: { name: 'get_information', arguments: '{}' } }
  return {
    messages: [
      { role: 'user', content: question },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'F4HiRgdZp', content: result },
    ],
  }
}

t.test('references of Mistral', async (t) => {
  const { gateway } = await behind(t, 'mistral', mistral())
  const expected: Source[] = [
    {
      url: REFERENCES[0].url,
      title: REFERENCES[0].title,
      at: 'The prize was awarded to Nihon Hidankyo',
      content: 'It was awarded to Nihon Hidankyo.\nIn Oslo.',
    },
    { url: REFERENCES[1].url, title: REFERENCES[1].title, at: '. Elsewhere it warms', content: 'Warming.' },
  ]
  for (const way of ASK_WAYS) {
    const { status, raw, reply } = await askGateway(gateway, way, conversation(way.format, JSON.stringify(REFERENCES)))
    t.equal(status, 200, askName(way))
    t.equal(reply.text, MISTRAL_TEXT, `${askName(way)}: the text`)
    const found = sourcesIn(way.format, raw, MISTRAL_TEXT).filter(({ url }) => url.startsWith('https:'))
    t.strictSame(found, inFormat(way.format, expected), `${askName(way)}: the sources`)
    t.match(raw, /"file_id":"7"/, `${askName(way)}: a key that no result has stays a key`)
  }
  for (const stream of [false, true]) {
    const { raw, reply } = await askGateway(gateway, { format: 'chat', stream }, conversation('chat', 'It was Nihon Hidankyo.'))
    t.equal(reply.text, MISTRAL_TEXT, 'without sources in the request the content is a text all the same')
    t.match(raw, /"file_id":"0"/, 'and the keys are there')
    t.notMatch(raw, /"content":\[/, 'content is no list')
  }
})
