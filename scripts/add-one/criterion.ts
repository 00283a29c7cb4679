/** A routing criterion, with a field of requests, a flag of models and a parameter of the model lists. */
import type { Addition } from './frame/addition.ts'

const LIST = 'src/routing/criteria/index.ts'

export const addition: Addition = {
  name: 'criterion',
  change: 'a routing criterion',
  recipe: 'its file in `src/routing/criteria/`, its line in the list of `src/routing/criteria/index.ts`; tests look at each criterion',
  most: 2,
  edits: [
    {
      file: 'src/routing/criteria/onsite.ts',
      text: `/** \`onsite\`: models that run in the house. */
import { criterion } from './criterion.ts'

const FLAG = 'onsite'

export const onsite = criterion({
  name: 'onsite',
  fields: { require_onsite: { kind: 'flag', strict: true, text: 'True: only models that are declared \`onsite: true\`.' } },
  modelFlag: { name: FLAG, text: 'True: it runs in the house.' },
  modelQuery: { name: FLAG, text: 'Whether it runs in the house.', matches: ({ flags }, wanted) => flags.has(FLAG) === wanted },
  refusal: { code: 'constraint_filtered' },
  removes: 'whose model is not declared \`onsite\`',
  demand: ({ require_onsite: required }) => required || undefined,
  test: ({ model }) => model.flags.has(FLAG),
  explain: () => 'its model runs elsewhere',
})
`,
    },
    {
      file: LIST,
      find: "import { distillable } from './distillable.ts'\n",
      replace: "import { distillable } from './distillable.ts'\nimport { onsite } from './onsite.ts'\n",
    },
    { file: LIST, find: '  zdr,\n', replace: '  zdr,\n  onsite,\n' },
  ],
  test: ['test/routing/criteria'],
  proof: {
    file: 'test/routing/onsite.test.ts',
    text: `import t from 'tap'
import { startScene } from '../support/scene.ts'

t.test('a request that requires it is refused by other models, and served by such a one', async (t) => {
  const provider = { require_onsite: true }
  const elsewhere = await startScene(t)
  const refused = await elsewhere.ask({ provider })
  t.equal(refused.status, 404)
  t.match(await refused.text(), 'constraint_filtered')
  const here = await startScene(t, { model: 'onsite: true' })
  t.equal((await here.ask({ provider })).status, 200)
  t.same((await here.upstream.request(0)).json.provider, undefined)
})
`,
  },
}
