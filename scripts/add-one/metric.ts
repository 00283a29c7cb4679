/** A metric: how many exchanges have been answered by a provider. */
import type { Addition } from './frame/addition.ts'

const FILE = 'src/server/exchange-recorder.ts'

export const addition: Addition = {
  name: 'metric',
  change: 'a metric',
  recipe:
    'its declaration (`counter`, `gauge`, `histogram` or `reading` of `src/machines/metrics/metrics.ts`) in the file that counts it, and the line that counts; tests look at each metric',
  most: 1,
  edits: [
    {
      file: FILE,
      find: 'const answerChecks = counter(',
      replace: `const answered = counter('answered_total', 'Exchanges that a provider has answered.')

const answerChecks = counter(`,
    },
    {
      file: FILE,
      find: 'const endpoint = run.committedEndpoint\n',
      replace: `const endpoint = run.committedEndpoint
    if (endpoint) metrics.of(answered).add()
`,
    },
  ],
  test: ['test/repository/metrics', 'test/server/documented-metrics'],
  proof: {
    file: 'test/server/answered.test.ts',
    text: `import t from 'tap'
import { startScene } from '../support/scene.ts'

t.test('an answer of a provider is counted, a refusal is not', async (t) => {
  const { gateway, ask } = await startScene(t)
  const samples = async () => (await (await fetch(\`\${gateway.admin}/metrics\`)).text()).split('\\n')
  t.equal((await ask()).status, 200)
  t.ok((await samples()).includes('headgate_answered_total 1'))
  t.equal((await ask({ model: 'acme/unknown' })).status, 404)
  t.ok((await samples()).includes('headgate_answered_total 1'))
})
`,
  },
}
