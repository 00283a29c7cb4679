/** The plugin of docs/plugins.md, exactly as it is printed there. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import type { JsonObject } from '../../src/core/json.ts'
import { startGateway } from '../support/gateway.ts'
import { plainNode } from '../support/program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = readFileSync(join(root, 'docs/plugins.md'), 'utf8')
const [, example = ''] = /\n## One from nothing\n([\s\S]*?)\n## /.exec(text) ?? []
const block = (language: string): string => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(example)?.[1] ?? ''
const [, file = ''] = /Save it as `([\w.-]+)` beside the configuration/.exec(example) ?? []

t.test('the example of the document compiles', async (t) => {
  const code = block('ts')
  t.ok(code.split('\n').length > 20 && code.split('\n').length < 50, 'about 40 lines')
  const dir = t.testdir({ [file]: code })
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
    files: [join(dir, file)],
    include: [],
  }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
  const compiled = spawnSync(...plainNode([join(root, 'node_modules/typescript/bin/tsc'), '-p', dir]), { encoding: 'utf8' })
  t.equal(compiled.status, 0, `${compiled.stdout}${compiled.stderr}`)
})

t.test('and runs, named in the configuration as the document says, and asked as it says', async (t) => {
  const directory = t.testdir({ [file]: block('ts') })
  const yaml = `${block('yaml')}
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }`
  t.same(parse(block('yaml')), { plugins: { load: [`./${file}`] } })
  const gateway = await startGateway(yaml, { directory })
  t.teardown(() => gateway.close())
  const request = JSON.parse(block('json')) as JsonObject
  for (const stream of [false, true]) {
    const response = await gateway.post('/v1/responses', { ...request, stream }, { 'X-Router-Metadata': 'enabled' })
    const utterance = await response.text()
    t.equal(response.status, 200, utterance)
    t.match(utterance, /"pipeline":\[\{"type":"plugin","name":"answer-language","data":\{"language":"French","characters":\d+\}\}\]/)
  }
  const body = (await (await gateway.post('/v1/plan', request)).json()) as JsonObject
  t.same(body.plugins, ['answer-language'])
  const wrong = await gateway.post('/v1/responses', { ...request, plugins: [{ id: 'answer-language', language: 7 }] })
  t.equal(wrong.status, 400)
  t.match(await wrong.json(), {
    error: { message: 'plugins[0].language: expected the name of a language', metadata: { field: 'plugins[0].language' } },
  })
})
