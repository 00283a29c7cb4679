/** A field of guardrails, which the configuration and the API have: the least context that an endpoint must have. */
import type { Addition } from './frame/addition.ts'

export const addition: Addition = {
  name: 'guardrail-field',
  change: 'a field of guardrails',
  recipe:
    'its row in a table of `src/guardrails/settings/fields.ts`, from which the schema of the configuration and the API are made; its reader, which has it in `settings` of the guardrail: in `src/pipeline/guard/` for terms of endpoints and keys, in `src/guardrails/` for texts; its test',
  most: 3,
  edits: [
    {
      file: 'src/guardrails/settings/fields.ts',
      find: '  enforce_zdr: optionalFlag(\n',
      replace: `  min_context: own({
    written: Type.Optional(Type.Integer({ description: 'Only endpoints with a context of at least so many tokens.', minimum: 1, maximum: 1e9 })),
    taken: Type.Integer({ minimum: 1, maximum: 1e9 }),
    note: 'Tokens that the context of an endpoint must have.',
  }),
  enforce_zdr: optionalFlag(
`,
    },
    {
      file: 'src/pipeline/guard/guardrail-terms.ts',
      find: '  const over = overCeiling(endpoint, ceiling, moment)\n',
      replace: `  if (settings.minContext !== undefined && !((endpoint.context ?? 0) >= settings.minContext)) return 'without the context'
  const over = overCeiling(endpoint, ceiling, moment)
`,
    },
    {
      file: 'test/gateway/guardrails/guardrail-min-context.test.ts',
      text: `/** The least context that a guardrail demands of endpoints, in the configuration and over the API. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'

const MANAGING = 'sk-router-v1-managemanagemanage'
const CALLING = 'sk-router-v1-callcallcallcallcal'

t.test('an endpoint of a shorter context does not serve', async (t) => {
  const yaml = \`auth: { keys: [ { name: manager, key: \${MANAGING}, management: true }, { name: app, key: \${CALLING} } ] }
guardrails: [ { name: long, min_context: 1000 } ]\`
  for (const [context, status] of [
    [999, 403],
    [1000, 200],
  ] as const) {
    const { gateway, ask } = await startScene(t, { yaml, endpoint: \`context: \${context}\` })
    const reply = await ask({}, 'chat', { authorization: \`Bearer \${CALLING}\` })
    t.equal(reply.status, status, \`\${context} tokens\`)
    const headers = { authorization: \`Bearer \${MANAGING}\`, 'content-type': 'application/json' }
    const shown = (await (await fetch(\`\${gateway.url}/v1/guardrails/long\`, { headers })).json()) as { data: JsonObject }
    t.equal(shown.data.min_context, 1000)
    const body = JSON.stringify({ name: 'stored', min_context: 0 })
    const refused = await fetch(\`\${gateway.url}/v1/guardrails\`, { method: 'POST', headers, body })
    t.equal(refused.status, 400)
    t.match(await refused.text(), 'min_context')
  }
})
`,
    },
  ],
  test: ['test/gateway/guardrails/guardrail-min-context', 'test/gateway/formats/openapi', 'test/config/documents'],
}
