/** The running configuration and submitted ones. */
import { type TSchema, Type } from 'typebox'
import { checkConfiguration, MAX_BODY, MAX_TEXT_LENGTH, pathStart, showConfiguration } from '../configuration.ts'
import { type Operation, operation } from '../operation.ts'
import { rehearseConfiguration } from '../rehearsal.ts'

const count = Type.Integer({ minimum: 0 })
const place = { line: Type.Integer({ minimum: 1 }), column: Type.Integer({ minimum: 1 }), path: Type.String() }

const running = Type.Object({
  data: Type.Object({
    file: Type.String(),
    files: Type.Array(Type.String(), { description: 'The file and its catalogue files.' }),
    entries: Type.Array(
      Type.Object({
        ...place,
        value: Type.Unknown({ description: 'As written, with its variables. Of a secret its references, or `***`.' }),
        secret: Type.Boolean(),
        file: Type.String(),
      }),
    ),
    left_out: Type.Integer({ minimum: 0, description: 'Entries beyond the 5,000 that are shown.' }),
  }),
})

const problems = Type.Array(Type.Object({ ...place, message: Type.String() }))
const unchecked = Type.Array(Type.Object({ ...place, what: Type.String() }), {
  description: 'Variables, secrets, catalogue files and plugins: their values are not looked at for a submitted text.',
})

const checked = Type.Object({
  data: Type.Object({
    ok: Type.Boolean(),
    problems,
    not_checked: unchecked,
    counts: Type.Union([Type.Object({ providers: count, models: count, keys: count }), Type.Null()]),
    needs_restart: Type.Array(Type.String(), {
      description: 'Settings that differ from the running ones and that a reload cannot change.',
    }),
    difference: Type.Union(
      [
        Type.Object({
          added: count,
          removed: count,
          lines: Type.Array(
            Type.Object({
              kind: Type.Union((['same', 'removed', 'added', 'folded'] as const).map((kind) => Type.Literal(kind))),
              was: Type.Union([Type.Integer(), Type.Null()], { description: 'Line of the running file.' }),
              now: Type.Union([Type.Integer(), Type.Null()], { description: 'Line of the text.' }),
              text: Type.String(),
              count: Type.Integer({ description: 'Lines that it stands for: more than one where they are folded.' }),
            }),
          ),
          left_out: count,
        }),
        Type.Null(),
      ],
      {
        description:
          'From the running file to the text, line by line in one form of YAML: without comments, secrets as in `GET /configuration`. Null where the text is no YAML.',
      },
    ),
    tests: Type.Array(Type.Object({ name: Type.String(), passed: Type.Boolean(), differences: Type.Array(Type.String()) })),
    test_problems: problems,
    passed: count,
    failed: count,
  }),
})

const text = (description: string) => Type.String({ description, maxLength: MAX_TEXT_LENGTH })

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const usd = (description: string) => Type.Number({ description: `USD. ${description}` })

const outcome = Type.Object(
  {
    model: nullable(Type.String()),
    provider_name: nullable(Type.String()),
    endpoint: nullable(Type.String()),
    price: nullable(Type.Record(Type.String(), Type.String())),
    cost: nullable(usd('Of the recorded tokens at that endpoint; 0 where it is refused, null where the price is unknown.')),
    refused: nullable(Type.Object({ status: Type.Integer(), type: nullable(Type.String()), message: Type.String() })),
  },
  { description: 'The endpoint that would be tried first.' },
)

const difference = {
  what: Type.Union((['model', 'endpoint', 'price', 'refused', 'served'] as const).map((what) => Type.Literal(what))),
  was: nullable(Type.String({ description: 'Today.' })),
  would_be: nullable(Type.String()),
}

const rehearsed = Type.Object({
  data: Type.Object({
    ok: Type.Boolean({ description: 'False where the text has problems: nothing is planned.' }),
    problems,
    not_checked: unchecked,
    approximate: Type.Array(Type.String({ description: 'What the plans do without.' })),
    requests: Type.Array(
      Type.Object({
        id: Type.String(),
        created_at: Type.String(),
        api_key_name: Type.String(),
        happened: Type.Object({
          model: nullable(Type.String()),
          provider_name: nullable(Type.String()),
          endpoint: nullable(Type.String()),
          status: nullable(Type.String()),
          usage: nullable(usd('The charge.')),
        }),
        today: nullable(outcome),
        planned: outcome,
        differences: Type.Array(Type.Object(difference)),
      }),
      { description: 'The newest first.' },
    ),
    summary: nullable(
      Type.Object({
        requests: count,
        differ: count,
        by: Type.Object({ model: count, endpoint: count, price: count, refused: count, served: count }),
        changes: Type.Array(Type.Object({ ...difference, count }), { description: 'The most frequent first, at most 50.' }),
        cost: Type.Object({
          happened: usd('What was charged.'),
          today: usd('Of the recorded tokens.'),
          planned: usd('Of the recorded tokens.'),
          requests: Type.Integer({ minimum: 0, description: 'Requests of both sums: those whose prices are known.' }),
        }),
      }),
    ),
    left_out: Type.Object({
      no_inputs: Type.Integer({ minimum: 0, description: 'Records that keep no inputs of a plan.' }),
      key_gone: Type.Integer({ minimum: 0, description: 'Their key no longer exists.' }),
      no_time: Type.Integer({ minimum: 0, description: 'The time was over.' }),
    }),
    scanned_until: Type.String({ description: 'The ledger was searched back to this time.' }),
  }),
})

const EXAMPLE = 'providers:\n  local: { dialect: sim }\nmodels:\n  acme/one: { name: One, endpoints: [{ provider: local, model: one }] }\n'

/** A configuration needs little memory, and its check has a thread to itself. */
const reads = { tag: 'Configuration', roles: ['viewer'], reach: 'gateway', scope: 'configuration:read' } as const
const checks = { ...reads, roles: ['admin'], maxBody: MAX_BODY } as const

export const configurationOperations: readonly Operation[] = [
  operation('GET /configuration', {
    id: 'getConfiguration',
    ...reads,
    summary: 'Get the running configuration',
    description: 'Every written entry with its file and line. Values of secrets are never shown.',
    parameters: [pathStart],
    reply: { description: 'The entries.', schema: running },
    faults: ['bad_request'],
    handle: ({ query }, source) => showConfiguration(query, source),
  }),
  operation('POST /configuration/check', {
    id: 'checkConfiguration',
    audit: { none: 'it looks at a text, and puts nothing in force' },
    ...checks,
    summary: 'Check a configuration',
    description:
      'As the commands `check` and `test` do, in a thread of its own, for at most 20 seconds. Nothing is applied, run or called, and the text has no way to read a file, a variable or a secret.',
    body: {
      schema: Type.Object({ text: text('The configuration as YAML.'), tests: Type.Optional(text('A file of policy tests as YAML.')) }),
      examples: { plain: { summary: 'A text', value: { text: EXAMPLE } } },
    },
    reply: { description: 'What is wrong with it.', schema: checked },
    faults: ['deadline', 'unprocessable', 'unavailable'],
    handle: async ({ body }, source) => checkConfiguration(await body(), source),
  }),
  operation('POST /configuration/rehearse', {
    id: 'rehearseConfiguration',
    audit: { none: 'it plans with a text, and puts nothing in force' },
    ...checks,
    summary: 'Plan recorded requests under a configuration',
    description:
      'What the newest recorded requests would do under a text, beside what they would do under the running one. As for a check, nothing is applied or called.',
    body: {
      schema: Type.Object({
        text: text('The configuration as YAML.'),
        since: Type.Optional(Type.String({ description: 'Only requests admitted at this time (UTC) or later.', format: 'date-time' })),
        until: Type.Optional(Type.String({ description: 'Only requests admitted before this time (UTC).', format: 'date-time' })),
        api_key_hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
        model: Type.Optional(Type.String({ description: 'The slug that served.', maxLength: 512 })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
      }),
      examples: { plain: { summary: 'The last ten requests', value: { text: EXAMPLE, limit: 10 } } },
    },
    reply: { description: 'What would be different.', schema: rehearsed },
    faults: ['deadline', 'unprocessable', 'unavailable'],
    handle: async ({ body }, source) => rehearseConfiguration(await body(), source),
  }),
]
