/**
 * Savings by the machines of `src/machines`: `node bench/machines.ts [--rounds 9]`. Microseconds of processor time for one piece of work, by the
 * machine and by the library that it stands in for, in turn in one process; the median of the rounds. Of the client and the server of HTTP/1.1
 * the whole gateway shows it: `npm run bench -- --scenario chat`, once more with HEADGATE_MACHINES=off.
 */
import { parseArgs } from 'node:util'
import protobuf from 'protobufjs'
import { RE2JS } from 're2js'
import { parseDocument, stringify } from 'yaml'
import type { JsonObject } from '../src/core/json.ts'
import { JsonReader } from '../src/machines/json-bytes/json-reader.ts'
import { JsonSource, SourceSize } from '../src/machines/json-bytes/json-source.ts'
import { MatchScreen } from '../src/machines/linear-regex/match-screen.ts'
import { loosenPattern } from '../src/machines/linear-regex/shape.ts'
import { ProtoWriter } from '../src/machines/otlp/proto-writer.ts'
import { quickYaml } from '../src/machines/quick-yaml/quick-yaml.ts'
import { ReplyScan } from '../src/machines/vectors/scan.ts'
import { table } from './simulation/table.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } })
const rounds = Number(values.rounds)

interface Pair {
  readonly machine: string
  readonly work: string
  readonly library: string
  own(): unknown
  theirs(): unknown
}

const TURNS = Array.from({ length: 300 }, (_, at) => ({
  role: at % 2 ? 'assistant' : 'user',
  content: `Turn ${at}: ${'words of a turn, '.repeat(64)}`,
}))
const BODY = Buffer.from(JSON.stringify({ model: 'a/b', stream: true, messages: TURNS }))
const BOUNDS = { depth: 64, members: 1e6, commas: 1e6 }
const PARSED = JSON.parse(BODY.toString()) as JsonObject
const SIZE = new SourceSize().measureBytes(BODY, BOUNDS)
const CATALOGUE = stringify({
  models: Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [
      `acme/${at}`,
      { name: `Acme ${at}`, context: 128_000, endpoints: [{ provider: 'acme', model: `m-${at}` }] },
    ]),
  ),
})
const PATTERNS = [String.raw`\b\d{3}-\d{2}-\d{4}\b`, String.raw`\b[A-Z]{2}\d{2}(?: ?\d{4}){4}\b`, String.raw`[\w.+-]+@[\w-]+\.[\w.]+`]
const COMPILED = PATTERNS.map((pattern) => RE2JS.compile(pattern))
const MATCH_SCREEN = new MatchScreen(PATTERNS.map((pattern) => loosenPattern(pattern)))
const PROSE = 'The committee met on Tuesday to discuss the plans for the new library, and most members agreed. '.repeat(40)
const VECTORS = Buffer.from(
  JSON.stringify({
    data: Array.from({ length: 16 }, (_, index) => ({ index, embedding: Array.from({ length: 1536 }, () => Math.random() - 0.5) })),
  }),
)
const { root } = protobuf.parse(
  'syntax = "proto3"; message Pair { string key = 1; string value = 2; } message List { repeated Pair pairs = 1; }',
)
const LIST = root.lookupType('List')
const ATTRIBUTES = Array.from({ length: 40 }, (_, at) => ({ key: `gen_ai.attribute.${at}`, value: `value of ${at}` }))
const writer = new ProtoWriter()

const PAIRS: readonly Pair[] = [
  {
    machine: 'json-bytes',
    work: 'parse a body of 330 KB',
    library: 'JSON.parse',
    own: () => new JsonReader(BODY, SIZE, 16_384).read(),
    theirs: () => JSON.parse(BODY.toString()),
  },
  {
    machine: 'json-bytes',
    work: 'write it with another model',
    library: 'JSON.stringify',
    own: () => JsonSource.of(BODY, PARSED, SIZE)?.write({ ...PARSED, model: 'c' }),
    theirs: () => Buffer.from(JSON.stringify({ ...PARSED, model: 'c' })),
  },
  {
    machine: 'quick-yaml',
    work: 'read a catalogue of 300 models',
    library: 'yaml',
    own: () => quickYaml(CATALOGUE),
    theirs: () => parseDocument(CATALOGUE).toJS(),
  },
  {
    machine: 'linear-regex',
    work: 'find nothing of 3 patterns in 4 KB',
    library: 're2js',
    own: () => MATCH_SCREEN.mayHold(PROSE),
    theirs: () => COMPILED.map((pattern) => pattern.matcher(PROSE).find()),
  },
  {
    machine: 'vectors',
    work: 'read 16 vectors of 1,536 numbers',
    library: 'JSON.parse',
    own: () => {
      const scan = new ReplyScan({ keys: new Set(['embedding']), length: 4_096, take: () => {} })
      scan.push(VECTORS)
      return scan.end()
    },
    theirs: () => JSON.parse(VECTORS.toString()),
  },
  {
    machine: 'otlp',
    work: 'write 40 attributes',
    library: 'protobufjs',
    own: () => {
      writer.clear()
      for (const { key, value } of ATTRIBUTES) {
        const pair = writer.begin(1)
        writer.text(1, key)
        writer.text(2, value)
        writer.end(pair)
      }
    },
    theirs: () => LIST.encode(LIST.create({ pairs: ATTRIBUTES })).finish(),
  },
]

/** Microseconds of processor time of one run; the first third of a turn is not counted. */
function timed(run: () => unknown): number {
  const count = (ms: number): number => {
    let done = 0
    for (const end = performance.now() + ms; performance.now() < end; done++) run()
    return done
  }
  count(60)
  const before = process.threadCpuUsage()
  const done = count(120)
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / done
}

const median = (numbers: number[]): number => numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? 0

const rows = PAIRS.map(({ machine, work, library, own, theirs }) => {
  const turns = Array.from({ length: rounds }, () => [timed(own), timed(theirs)] as const)
  const [ours, others] = [median(turns.map(([mine]) => mine)), median(turns.map(([, other]) => other))]
  return [machine, work, library, ours.toFixed(1), others.toFixed(1), `${(others / ours).toFixed(1)}×`]
})
console.log(table(['machine', 'work', 'in the place of', 'µs', 'µs of that', 'ratio'], rows))
