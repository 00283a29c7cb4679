/** The documents of the agents show what the suite has found: `npm run test:agents -- --long` with HEADGATE_WRITE=1 writes both. */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { AGENTS } from '../../src/config/agents/index.ts'
import { agentPackage } from './install.ts'
import { documents, merged, overview, type Results, readResults } from './results.ts'

t.test('documents of the agents show the results', async (t) => {
  for (const [path, text] of documents()) {
    if (process.env.HEADGATE_WRITE === '1') writeFileSync(path, text)
    t.equal(readFileSync(path, 'utf8'), text, `docs/agents/${basename(path)}: HEADGATE_WRITE=1 npm test -- agents/pages writes it`)
  }
})

t.test('results are those of the pinned version', async (t) => {
  const found = AGENTS.flatMap(({ name }) => readResults(name) ?? [])
  for (const { agent, version } of found)
    t.equal(
      version,
      agentPackage(agent).version,
      `test/agents/results/${agent}.json: HEADGATE_WRITE=1 npm run test:agents -- --long ${agent}`,
    )
  t.ok(found.length > 0)
})

t.test('a scenario that fails loses its earlier result, and what was not run is not counted as done', async (t) => {
  const results = (scenarios: object): Results => ({
    agent: 'pi',
    package: 'npm pi',
    version: '1.0.0',
    formats: { chat: { gemini: { scenarios: scenarios as Record<string, object | undefined> } } },
  })
  const after = merged(results({ task: {}, image: {} }), results({ image: undefined, kill: { not: 'because' } }))
  t.match(overview([JSON.parse(JSON.stringify(after)) as Results]), /\| not run +\| 1 of 7: not kill; 5 not run \|/)
})
