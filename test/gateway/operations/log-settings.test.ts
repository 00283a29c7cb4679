/** The settings of the log: levels of its parts, forms of its lines, and which requests get one. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../src/config/load.ts'
import { accessTemplate, formattedLine } from '../../../src/core/log-settings.ts'
import { oneModel } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'

const NAMELESS = { model: 'acme/none' }

/** Lines that stand for a request. */
const ofRequests = (logs: readonly string[]): string[] => logs.filter((line) => line.includes('exchange') || line.startsWith('>'))

t.test('only requests that fail get a line, in the form of the file', async (t) => {
  const { gateway, ask } = await startScene(t, {
    yaml: `log: { access: { lines: failures, format: "> {address} [{time}] {key} {requested} {provider} {status} {fault}" } }`,
  })
  t.equal((await ask()).status, 200)
  t.equal((await ask(NAMELESS)).status, 404)
  const [line, ...others] = ofRequests(gateway.logs)
  t.same(others, [])
  t.match(line, /^> 127\.0\.0\.1 \[\d{4}-\d\d-\d\dT[\d:.]+Z\] test acme\/none - 404 \w+\n$/)
})

t.test('a request that fails behind a 200 counts as one that fails', async (t) => {
  const { gateway, ask } = await startScene(t, {
    answer: () => ({
      headers: { 'content-type': 'text/event-stream' },
      body: ['data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'],
    }),
    yaml: 'log: { access: { lines: failures } }',
  })
  const reply = await ask({ stream: true })
  t.equal(reply.status, 200)
  await reply.text()
  t.match(
    ofRequests(gateway.logs).map((line) => JSON.parse(line) as object),
    [{ status: 200, fault: /./, msg: 'exchange' }],
  )
})

t.test('no request gets a line', async (t) => {
  const { gateway, ask } = await startScene(t, { yaml: 'log: { access: { lines: none } }' })
  t.equal((await ask(NAMELESS)).status, 404)
  t.same(ofRequests(gateway.logs), [])
})

t.test('lines of the form logfmt, with the priority in front for the journal', async (t) => {
  for (const [format, start] of [
    ['logfmt', ''],
    ['journal', '<6>'],
  ] as const) {
    const { gateway, ask } = await startScene(t, { yaml: `log: { format: ${format} }` })
    await ask(NAMELESS)
    const [line] = ofRequests(gateway.logs)
    t.match(line, new RegExp(`^${start}level=info time=\\S+Z gen=gen-\\S+ key=test client=chat status=404 fault=\\w+ `))
  }
})

t.test('no value ends its line, or moves the cursor of a terminal', (t) => {
  const fields = { requested: 'a\n"b" \u001b[2J\u009b', client: '', status: 200 }
  t.equal(formattedLine(fields, 'logfmt'), 'requested="a\\n\\"b\\" \\u001b[2J\\u009b" client="" status=200\n')
  t.equal(accessTemplate('{requested}|{client}|{status}|{fault}')(fields), 'a\\n\\"b\\" \\u001b[2J\\u009b|-|200|-\n')
  t.end()
})

t.test('levels of parts, taken over by a reload', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-log-'))
  const { gateway, upstream } = await startScene(t, { directory, yaml: 'log: { level: error, levels: { config: info } }' })
  const reload = (log: string) => gateway.reconfigure(`${log}\n${oneModel(upstream.url, 'openai-chat')}`)
  const told = () => gateway.logs.filter((line) => line.includes('configuration reloaded')).map((line) => JSON.parse(line) as object)
  await reload('log: { level: error, levels: { config: warn } }')
  t.match(told(), [], 'the new level holds for the line of its own reload')
  await reload('log: { level: error, levels: { config: info } }')
  t.match(told(), [{ level: 30, part: 'config' }])
})

t.test('a form with an unknown field, a part or a level that is none', (t) => {
  for (const [log, expected] of [
    ['access: { format: "{model} {prompt}" }', /log\.access\.format.*text with fields in braces, of time, level/s],
    ['access: { format: plain }', /log\.access\.format/],
    ['levels: { stores: info }', /log\.levels.*one of: auth, config, credentials/s],
    ['level: loud', /log\.level.*trace/s],
  ] as const)
    t.throws(() => loadConfig('headgate.yaml', {}, { text: `providers: { sim: { dialect: sim } }\nlog: { ${log} }` }), expected)
  t.end()
})
