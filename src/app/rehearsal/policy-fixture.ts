/** A file of policy tests: requests, and what must become of them. */
import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import type { Environment } from '../../config/expand.ts'
import { choiceField, closed, entryName, line, listField, mapField, usd } from '../../config/fields/scalars.ts'
import { ConfigError, type Path } from '../../config/problems.ts'
import { Source } from '../../config/source.ts'
import { validate } from '../../config/validate.ts'
import { type Json, present } from '../../core/json.ts'
import { PLAN_FORMATS } from '../../pipeline/plan/format.ts'
import { CRITERIA } from '../../routing/criteria/index.ts'
import { AILMENTS } from './rehearsal.ts'

const TAG = '^\\S{1,400}$'
const TAG_EXPECTED = 'the tag of an endpoint, such as provider, provider/variant or author/model@provider'

const tag = (description: string) => Type.String({ description, pattern: TAG, expected: TAG_EXPECTED })
const names = (description: string) => listField(description, line('A name.'))
const status = Type.Integer({ description: 'HTTP status.', minimum: 400, maximum: 599 })
const HEADER = '^[a-z0-9-]{1,64}$'
const VARIABLE = '^[A-Za-z_][A-Za-z0-9_]*$'

const refusal = closed('The error that the request must get.', {
  status: Type.Optional(status),
  type: Type.Optional(line('`error.metadata.error_type`.')),
  code: Type.Optional(line('`error.availability.code`.')),
  message: Type.Optional(line('A part of the message.', 1000)),
})

const expectation = closed('What must become of the request.', {
  order: Type.Optional(listField('All candidates, in order.', tag('An endpoint.'))),
  first: Type.Optional(tag('The candidate that is tried first.')),
  models: Type.Optional(names('Slugs of the models, the primary one first.')),
  strategy: Type.Optional(line('As in `router_metadata`.')),
  excluded: Type.Optional(
    mapField(
      'Endpoints that must be left out, each with its filter.',
      TAG,
      TAG_EXPECTED,
      choiceField('A filter.', [...CRITERIA.map(({ name }) => name), 'unpriced', 'allow_fallbacks']),
    ),
  ),
  plugins: Type.Optional(names('Plugins that run.')),
  guardrails: Type.Optional(names('Guardrails that run.')),
  policies: Type.Optional(names('Policies that act on it, in their order; for a request that gets an error the one that refuses it.')),
  hold_at_most_usd: Type.Optional(usd('The hold is no larger.')),
  error: Type.Optional(refusal),
})

/** Settings that one test states, or a file for all its tests. */
const settings = {
  key: Type.Optional(entryName('Name of the key that sends the request; by default the first that may generate.')),
  format: Type.Optional(choiceField('Format of the body; by default recognised from it.', PLAN_FORMATS)),
  headers: Type.Optional(mapField('Headers of the request.', HEADER, 'a header name in lower case', line('A value.', 4096))),
  random: Type.Optional(Type.Number({ description: 'The number that every draw gets.', minimum: 0, maximum: 0.999999 })),
  health: Type.Optional(mapField('What endpoints have suffered.', TAG, TAG_EXPECTED, choiceField('What.', AILMENTS))),
  spent_usd: Type.Optional(usd('What the key has spent before.')),
}

const testCase = {
  request: Type.Optional(Type.Unsafe<Json>({ description: 'A body of a generation or of embeddings.' })),
  requests: Type.Optional(
    listField('Bodies that must all meet the same expectation.', Type.Unsafe<Json>({ description: 'A generation body.' }), 1),
  ),
  expect: Type.Optional(expectation),
}

const test = closed('One test.', { name: Type.Optional(line('What it shows.')), ...settings, ...testCase })

const fixture = closed('Policy tests of one configuration.', {
  name: Type.Optional(line('What the tests are about.')),
  config: Type.Optional(line('The configuration, relative to this file.', 1024)),
  env: Type.Optional(
    mapField('Variables of the configuration; they win over the environment.', VARIABLE, 'a name of a variable', Type.String()),
  ),
  ...settings,
  ...testCase,
  tests: Type.Optional(listField('Several tests, in place of `request` and `expect`.', test, 1)),
})

export type Expectation = Static<typeof expectation>
type RawTest = Static<typeof test>

export interface PolicyTest extends Omit<RawTest, 'name' | 'request' | 'requests' | 'expect'> {
  name: string
  /** JSON texts. */
  requests: string[]
  expect: Expectation
}

export interface Fixture {
  /** Absent in tests that come with the text of their configuration. */
  config: string | undefined
  env: Readonly<Record<string, string>>
  tests: PolicyTest[]
}

/** @throws ConfigError with every problem as `file:line:column`. */
export function readFixture(file: string, env: Environment): Fixture & { config: string } {
  const source = new Source(file, readFileSync(file, 'utf8'), env)
  const { config, ...rest } = fixtureIn(source)
  if (config === undefined) source.reportMissing([], 'config', '"config" is missing, expected the configuration, relative to this file')
  stopAt(source)
  return { ...rest, config: config ?? '' }
}

/** @throws ConfigError with every problem. */
export function fixtureIn(source: Source): Fixture {
  stopAt(source)
  const raw = validate(fixture, source) as unknown as Static<typeof fixture>
  stopAt(source)
  const { config, env: variables = {}, tests, name, request, requests, expect, ...shared } = raw
  const own = request !== undefined || requests !== undefined || expect !== undefined
  if (tests && own) source.report(['tests'], 'stands beside a request of the file itself, expected one of the two', 'key')
  const list = tests ?? [present({ name, request, requests, expect })]
  const read = list.map((one, i) => parseTest({ ...shared, ...one }, { source, path: tests ? ['tests', i] : [], number: i + 1 }))
  stopAt(source)
  return { config, env: variables, tests: read }
}

function parseTest(raw: RawTest, { source, path, number }: { source: Source; path: Path; number: number }): PolicyTest {
  const { name, request, requests, expect = {}, ...settings } = raw
  if ((request === undefined) === (requests === undefined)) source.report(path, 'expected either `request` or `requests`', 'key')
  if (Object.keys(expect).length === 0) source.report([...path, 'expect'], 'expected at least one expectation', 'key')
  const besides = Object.keys(expect).find((field) => field !== 'error' && field !== 'excluded' && field !== 'policies')
  if (expect.error && besides !== undefined)
    source.report([...path, 'expect', besides], 'cannot hold of a request that gets an error', 'key')
  const bodies = requests ?? (request === undefined ? [] : [request])
  return { ...settings, name: name ?? `test ${number}`, requests: bodies.map((body) => JSON.stringify(body)), expect }
}

function stopAt({ problems }: Source): void {
  if (problems.length > 0) throw new ConfigError(problems)
}
