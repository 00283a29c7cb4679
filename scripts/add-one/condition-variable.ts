/** A variable of conditions: whether the model that an endpoint has is behind a wildcard. */
import type { Addition } from './frame/addition.ts'

export const addition: Addition = {
  name: 'condition-variable',
  change: 'a variable of conditions',
  recipe:
    'its row in the table of `src/config/conditions/variables.ts`, of which types, bounds and documents are made; its reader in `src/pipeline/policy/policy-facts.ts`; its test',
  most: 3,
  edits: [
    {
      file: 'src/config/conditions/variables.ts',
      find: "      author: text('The part before the slash.'),\n",
      replace: `      author: text('The part before the slash.'),
      declared: flag('False for a model behind a wildcard.'),
`,
    },
    {
      file: 'src/pipeline/policy/policy-facts.ts',
      find: '    author: ({ endpoint }) => endpoint && slugAuthor(endpoint.model.slug),\n',
      replace: `    author: ({ endpoint }) => endpoint && slugAuthor(endpoint.model.slug),
    declared: ({ endpoint }) => endpoint && endpoint.model.wildcard === undefined,
`,
    },
    {
      file: 'test/gateway/policies/declared-models.test.ts',
      text: `/** Policies over models that the configuration declares. */
import t from 'tap'
import { startScene } from '../../support/scene.ts'

t.test('a declared model is seen as such', async (t) => {
  const yaml = "policies: [ { name: declared, when: model.declared, deny: {} } ]"
  const { ask } = await startScene(t, { yaml })
  t.equal((await ask()).status, 403)
})
`,
    },
  ],
  test: ['test/gateway/policies/declared-models', 'test/config/conditions/condition'],
}
