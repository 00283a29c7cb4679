/** The running configuration and submitted ones, described. */
import { Type } from 'typebox'
import { LONGEST_TEXT } from './configuration.ts'
import type { DescribedOperation } from './openapi.ts'

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
    tests: Type.Array(Type.Object({ name: Type.String(), passed: Type.Boolean(), differences: Type.Array(Type.String()) })),
    test_problems: problems,
    passed: count,
    failed: count,
  }),
})

const text = (description: string) => Type.String({ description, maxLength: LONGEST_TEXT })

const EXAMPLE = 'providers:\n  local: { dialect: sim }\nmodels:\n  acme/one: { name: One, endpoints: [{ provider: local, model: one }] }\n'

export function configurationOperations(): DescribedOperation[] {
  return [
    {
      method: 'get',
      path: '/configuration',
      id: 'getConfiguration',
      tag: 'Configuration',
      key: 'management',
      summary: 'Get the running configuration',
      description: 'Every written entry with its file and line. Values of secrets are never shown.',
      parameters: [
        {
          name: 'path',
          in: 'query',
          description: 'Only entries whose path begins with it.',
          schema: { type: 'string', maxLength: 512 },
          example: 'models',
        },
      ],
      reply: { description: 'The entries.', schema: running },
      faults: ['bad_request'],
    },
    {
      method: 'post',
      path: '/configuration/check',
      id: 'checkConfiguration',
      tag: 'Configuration',
      key: 'management',
      summary: 'Check a configuration',
      description:
        'As the commands `check` and `test` do, in a thread of its own, for at most 20 seconds. Nothing is applied, run or called, and the text has no way to read a file, a variable or a secret.',
      body: {
        schema: Type.Object({ text: text('The configuration as YAML.'), tests: Type.Optional(text('A file of policy tests as YAML.')) }),
        examples: { plain: { summary: 'A text', value: { text: EXAMPLE } } },
      },
      reply: { description: 'What is wrong with it.', schema: checked },
      faults: ['deadline', 'unprocessable', 'unavailable'],
    },
  ]
}
