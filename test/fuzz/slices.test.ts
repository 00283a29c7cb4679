/**
 * Large bodies go on in pieces of their own bytes: what the provider reads is what was checked, and what is refused is refused alike, however a
 * sender writes its JSON.
 */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { chatClient, openaiChat } from '../../src/dialects/chat/index.ts'
import { anthropicUpstream, messagesClient } from '../../src/dialects/messages/index.ts'
import type { Quirks } from '../../src/dialects/quirks.ts'
import { openaiResponses, responsesClient } from '../../src/dialects/responses/index.ts'
import type { ClientDialect, Encoded, PassWire, Target, UpstreamDialect } from '../../src/dialects/types.ts'
import { type Parsed, readJson } from '../../src/pipeline/request/read.ts'
import { every } from '../support/every.ts'
import { readStrictly, written } from '../support/json-forms.ts'
import { marked, type Surface } from '../support/matrix/markers.ts'
import { createRandom, mutated } from '../support/matrix/mutate.ts'
import { CHAT_REQUESTS } from '../support/matrix/surface-chat.ts'
import { MESSAGES_REQUESTS } from '../support/matrix/surface-messages.ts'
import { RESPONSES_REQUESTS } from '../support/matrix/surface-responses.ts'
import { runs, seed } from '../support/seed.ts'

interface Wire {
  readonly name: string
  readonly client: ClientDialect
  readonly pass: PassWire | undefined
  readonly bodies: readonly JsonObject[]
  /** Departures of providers that change members, messages or tools. */
  readonly quirks: readonly Quirks[]
}

const requestBodies = (requests: Readonly<Record<string, Surface>>): JsonObject[] =>
  Object.values(requests).map((surface) => marked(surface).body)

const WIRES: readonly Wire[] = [
  {
    name: 'chat',
    client: chatClient,
    pass: openaiChat.pass,
    bodies: requestBodies(CHAT_REQUESTS),
    quirks: [
      {},
      { developer: 'developer', cache_control: true },
      { tool_ids: 'alphanumeric_9' },
      { reasoning_replay: 'reasoning_content', tool_images: 'tool' },
      { one_system_message: true, null_content: false, text_parts: false },
      { closed_schemas: true, body: { drop: ['temperature', 'messages.name'] } },
    ],
  },
  {
    name: 'messages',
    client: messagesClient,
    pass: anthropicUpstream.pass,
    bodies: requestBodies(MESSAGES_REQUESTS),
    quirks: [{}, { cache_prefix: '5m', cache_minimum: 1 }, { cache_whole: false }, { thinking_bound: true }, { body: { drop: ['stop'] } }],
  },
  {
    name: 'responses',
    client: responsesClient,
    pass: openaiResponses.pass,
    bodies: requestBodies(RESPONSES_REQUESTS),
    quirks: [{}, { closed_schemas: true }, { external_web_access: false }, { body: { drop: ['include'] } }],
  },
]

const DEPTH = 64
const SEED = seed()
const EACH = Math.ceil(runs(3_000, 1_000_000) / WIRES.length)
/** Bytes from which on elements of lists are parsed by themselves: nothing is too small to be sliced here, or everything. */
const SLICED = [0, 40, 300]
const PARSED = Number.POSITIVE_INFINITY

t.setTimeout(7_200_000)
t.comment(`seed ${SEED}`)

/** Parts of a thrown error that are compared. */
const thrownProblem = (thrown: unknown): string => (thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown))

type Read = { read: Parsed } | { refused: string }

function readWith(bytes: Buffer, { client }: Wire, large: number): Read {
  try {
    const read = readJson(bytes, DEPTH, large)
    client.check(read.body, {})
    return { read }
  } catch (thrown) {
    return { refused: thrownProblem(thrown) }
  }
}

/** Finds code that changes a value of the caller's in place: in the bytes it would stay as it was. */
function frozen(value: Json | undefined): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  for (const child of Object.values(value)) frozen(child)
}

function wireTarget({ quirks }: Wire, random: () => number): Target {
  return {
    model: 'their-model',
    stream: random() < 0.5,
    quirks: quirks[Math.floor(random() * quirks.length)] ?? {},
    user: random() < 0.5 ? 'pass' : 'drop',
    outputCap: random() < 0.3 ? 100 : undefined,
    supported: random() < 0.2 ? new Set(['tools', 'tool_choice', 'max_tokens']) : undefined,
  }
}

function encodedBy(pass: PassWire, body: JsonObject, target: Target): Encoded | undefined {
  return pass.admits(body, target) ? pass.request(body, target) : undefined
}

const UPSTREAMS: readonly UpstreamDialect[] = [openaiChat, anthropicUpstream, openaiResponses]

interface Seen {
  refused: number
  sliced: number
  doubled: number
  rewritten: number
  released: number
}

/** @returns what differs between the two ways; undefined where nothing does. */
function difference(bytes: Buffer, wire: Wire, random: () => number, seen: Seen): string | undefined {
  const large = Math.min(SLICED[Math.floor(random() * SLICED.length)] ?? 0, bytes.length)
  const [slicing, parsing] = [readWith(bytes, wire, large), readWith(bytes, wire, PARSED)]
  if ('refused' in slicing || 'refused' in parsing) {
    seen.refused++
    const [one, other] = [slicing, parsing].map((each) => ('refused' in each ? each.refused : 'taken'))
    return one === other ? undefined : `sliced: ${one}; parsed: ${other}`
  }
  const { pass } = wire
  if (!pass) return 'there is no pass lane'
  if (slicing.read.weight !== parsing.read.weight) return 'the two weigh it differently'
  const { body, source } = slicing.read
  frozen(body)
  const target = wireTarget(wire, random)
  // As at a second attempt: its members are parsed again out of the bytes.
  const isReleased = source !== undefined && random() < 0.5
  const kept = isReleased ? source.release(0) : body
  const encoded = encodedBy(pass, kept, target)
  const wanted = encodedBy(pass, parsing.read.body, target)
  if (!encoded || !wanted) return encoded === wanted ? undefined : 'the two are not admitted alike'
  if (!source) {
    seen.doubled++
    const strict = readStrictly(bytes.toString())
    return strict === undefined || /\\ud[89a-f]/.test(JSON.stringify(strict))
      ? undefined
      : 'no name stands twice in it, yet it was not sliced'
  }
  seen.sliced++
  if (isReleased) seen.released++
  const other = UPSTREAMS[Math.floor(random() * UPSTREAMS.length)]
  const translated = other?.encodeRequest(wire.client.decodeRequest(kept), { ...target, quirks: {} }).body
  const rewritten = translated && source.rewrite(translated)
  if (rewritten) seen.rewritten++
  const found = unlike(source.write(encoded.body), wanted.body) ?? (rewritten && unlike(rewritten, translated))
  return found ?? (JSON.stringify(kept) === JSON.stringify(parsing.read.body) ? undefined : 'what was released reads otherwise')
}

/** @returns what the provider reads in place of what it was to read. */
function unlike(sent: Buffer, wanted: JsonObject): string | undefined {
  const text = sent.toString()
  const value = readStrictly(text)
  if (value === undefined) return `what was sent has a name twice, or is no JSON: ${text}`
  return JSON.stringify(value.json) === JSON.stringify(wanted) ? undefined : `sent ${text}, not ${JSON.stringify(wanted)}`
}

async function compare(t: Test, wire: Wire): Promise<Seen> {
  const random = createRandom(SEED)
  const seen: Seen = { refused: 0, sliced: 0, doubled: 0, rewritten: 0, released: 0 }
  await every(t, 'each is sent alike, or refused alike', (t) => {
    for (let index = 0; index < EACH; index++) {
      // Half of them as they are, so that most reach the provider.
      const plain = wire.bodies[Math.floor(random() * wire.bodies.length)] ?? {}
      const bytes = written(random() < 0.5 ? plain : mutated(wire.bodies, random), random)
      const found = difference(bytes, wire, random, seen)
      if (found !== undefined) t.fail(found, { body: bytes.toString() })
    }
    t.pass('no other way of writing them differs')
  })
  t.comment(
    `refused ${seen.refused}, sliced ${seen.sliced}, with a name twice ${seen.doubled}, translated ${seen.rewritten}, released ${seen.released}`,
  )
  return seen
}

for (const wire of WIRES)
  t.test(`${EACH} bodies of ${wire.name}`, async (t) => {
    const { refused, sliced, doubled, rewritten, released } = await compare(t, wire)
    t.ok(refused > EACH / 50, 'some were refused')
    t.ok(sliced > EACH / 5, 'many were sent in their own bytes')
    t.ok(rewritten > EACH / 10, 'many were translated with their own texts')
    t.ok(released > EACH / 10, 'many had been released before')
    t.ok(doubled > EACH / 200, 'some had a name twice')
  })
