/** The documents of the agents show what the suite has found: `npm run test:agents -- --long` with HEADGATE_WRITE=1 writes both. */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { AGENTS } from '../../src/config/agents/index.ts'
import { packageOf } from './install.ts'
import { documents, readResults } from './results.ts'

t.test('documents of the agents show the results', async (t) => {
  for (const [path, text] of documents()) {
    if (process.env.HEADGATE_WRITE === '1') writeFileSync(path, text)
    t.equal(readFileSync(path, 'utf8'), text, `docs/agents/${basename(path)}: HEADGATE_WRITE=1 npm test -- agents/pages writes it`)
  }
})

t.test('results are those of the pinned version', async (t) => {
  const found = AGENTS.flatMap(({ name }) => readResults(name) ?? [])
  for (const { agent, version } of found)
    t.equal(version, packageOf(agent).version, `test/agents/results/${agent}.json: HEADGATE_WRITE=1 npm run test:agents -- --long ${agent}`)
  t.ok(found.length > 0)
})
