import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import type { CanonicalRequest, Host, Planned, Plugin, Stage, StreamEvent } from '../../src/plugin-api/index.ts'
import { plainNode } from '../support/program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = readFileSync(join(root, 'docs/plugins.md'), 'utf8')
const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(text) ?? []

/** The example as the document has it, saved where its import leads to the real module. */
function save(dir: string): string {
  const file = join(dir, 'plugin.ts')
  writeFileSync(file, code.replace('../../src/', `${root.replaceAll('\\', '/')}src/`))
  return file
}

t.test('the example of the document compiles', async (t) => {
  t.ok(code.split('\n').length < 50, 'about 40 lines')
  t.same(
    [...code.matchAll(/from '([^']+)'/g)].map((match) => match[1]),
    ['../../src/plugin-api/index.ts'],
  )
  const dir = t.testdir({})
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
    files: [save(dir)],
    include: [],
  }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
  const compiled = spawnSync(...plainNode([join(root, 'node_modules/typescript/bin/tsc'), '-p', dir]), { encoding: 'utf8' })
  const own = `${compiled.stdout}${compiled.stderr}`
  t.equal(compiled.status, 0, own)
})

t.test('and runs', async (t) => {
  const { answerLanguage }: { answerLanguage: Plugin } = await import(pathToFileURL(save(t.testdir({}))).href)
  const request: CanonicalRequest = {
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }],
    tools: [],
    sampling: {},
    stream: false,
    used: new Set(),
  }
  const stages: Stage[] = []
  const edits: string[] = []
  const exchange = {
    stages,
    request: () => request,
    edit(by: string, change: (draft: CanonicalRequest) => void) {
      edits.push(by)
      change(request)
    },
  } as unknown as Planned
  const host: Host = {
    clock: { now: () => 0, monotonic: () => 0, after: () => ({ cancel: () => {} }), random: () => 0 },
    estimateTokens: (one) => one.length,
  }

  t.throws(() => answerLanguage.parse({ id: 'answer-language' }, 'plugins[0]'), /plugins\[0\]\.language: expected/)
  try {
    answerLanguage.parse({ language: 7 }, 'plugins[0]')
    t.fail('a number is no language')
  } catch (problem) {
    t.ok(problem instanceof Fault)
  }

  const config = answerLanguage.parse({ id: 'answer-language', language: 'French' }, 'plugins[0]')
  await answerLanguage.shape?.(exchange, config, host)
  t.same(edits, ['answer-language'])
  t.match(request.items, [{ role: 'system', parts: [{ text: 'Answer in French.' }] }, { role: 'user' }])

  const tap = answerLanguage.tap?.(exchange, config, host)
  t.equal(tap?.mode, 'observe')
  const events: StreamEvent[] = [
    { type: 'block-start', block: 0, kind: 'text' },
    { type: 'block-delta', block: 0, text: 'Bon' },
    { type: 'block-delta', block: 0, text: 'jour' },
    { type: 'block-end', block: 0 },
    { type: 'end', reason: 'stop' },
  ]
  for (const event of events) tap?.push(event, () => {})
  t.same(stages, [{ type: 'plugin', name: 'answer-language', data: { language: 'French', characters: 7 } }])
})
