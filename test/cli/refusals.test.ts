/** `headgate refusals`: what the gateway has refused, from the running gateway, from one with workers, and from its store once it has stopped. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { showGeneration } from '../../src/cli/generations.ts'
import { type RefusalFlags, refusals } from '../../src/cli/refusals.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { list, object } from '../support/fold.ts'
import { type Printed, printed } from '../support/printed.ts'
import { runProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

t.setTimeout(280_000)
const SECRET = 'sk-router-v1-0123456789abcdef'
/** Names of models that would turn the direction of a terminal, and that a spreadsheet would compute. */
const TURNED = 'acme/\u202eeno'
const FORMULA = '=cmd|calc'

const printedLines = ({ out }: Printed): JsonObject[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => object(JSON.parse(line)))

async function scene(t: Test, workers: readonly string[]) {
  const home = t.testdir()
  const config = join(home, 'headgate.yaml')
  const [port, admin] = await freePorts(2)
  writeFileSync(
    config,
    `server: { host: 127.0.0.1, port: ${port} }
admin: { port: ${admin} }
store: { url: "sqlite:${join(home, 'ledger.db')}" }
auth: { keys: [ { name: app, key: "${SECRET}" } ] }
${simulated()}`,
  )
  const program = runProgram(['--config', config, ...workers], { cwd: home })
  t.teardown(() => program.child.kill('SIGKILL'))
  await program.until(/listens on/)
  const ask = async (body: JsonObject, secret = SECRET): Promise<string> => {
    const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'a secret word' }], ...body }),
    })
    await reply.text()
    return reply.headers.get('x-generation-id') ?? ''
  }
  const say = (flags: RefusalFlags = {}): Promise<Printed> => printed((streams) => refusals([], { config, ...flags }, streams))
  const shown = (id: string): Promise<Printed> => printed((streams) => showGeneration(id, { config }, streams))
  return { program, ask, say, shown, config }
}

for (const workers of [[], ['--workers', '2']] as const)
  t.test(
    `refused requests ${workers.length > 0 ? 'of two workers' : 'of one process'}, while it runs and after it has stopped`,
    async (t) => {
      const { program, ask, say, shown } = await scene(t, workers)
      t.match((await say()).out, 'No request was refused')
      const none = await ask({ model: TURNED })
      await ask({ model: FORMULA })
      await ask({ model: 'sim/echo', temperature: 'a secret word' })
      const served = await ask({ model: 'sim/echo' })
      t.match(served, /^gen-/)
      const unknown = await ask({ model: 'sim/echo' }, 'sk-a-secret-word')
      await eventually('the record of what was served', async () => ((await shown(served)).code === 0 ? true : undefined))
      const check = async (): Promise<void> => {
        const rows = await eventually('all of them are listed', async () => {
          const found = printedLines(await say({ json: true }))
          return found.reduce((sum, { count }) => sum + Number(count), 0) === 4 ? found : undefined
        })
        t.ok(rows.some(({ reason }) => reason === 'bad_request'))
        t.ok(rows.every(({ api_key_name: name, status }) => name === (status === 401 ? null : 'app')))
        t.match(await say({ generation: unknown }), { code: 0, out: /unknown .* 401 .* invalid_key/ }, 'a 401 as well')
        const wanted = (await say({ generation: none })).out
        t.match(wanted, none, 'the request that is looked for')
        t.notMatch(wanted, /cmd/, 'and not the latest of its minute, key and reason')
        const [one, ...others] = printedLines(await say({ json: true, generation: none }))
        t.equal(others.length, 0)
        t.ok(list(one?.latest).some((each) => object(each).generation_id === none))
        t.match(await say({ generation: served }), { code: 1, out: '', error: `headgate generations show ${served}` })
        t.match(await say({ generation: 'gen-1767614400-000000000000' }), { code: 1, out: '', error: /no request with the id/ })
        t.match(await shown(none), { code: 1, out: '', error: `headgate refusals --generation ${none}` })
        const bad = rows.filter(({ reason }) => reason === 'bad_request')
        t.same(printedLines(await say({ json: true, reason: 'bad_request', key: 'app' })), bad)
        t.same(printedLines(await say({ json: true, reason: 'no_such_reason' })), [])
        t.match(await say({ key: 'other' }), { code: 1, error: /other/ })
        t.match(await say({ since: 'soon' }), { code: 1, error: /--since/ })
        const listed = await say()
        t.match(listed.out, /bad_request .*temperature/)
        t.notMatch(listed.out, '\u202e')
        const csv = await say({ csv: true })
        t.match(csv.out, /^minute,api_key_hash,api_key_name,reason,status,error_type,count,last_at,latest,limits\r?\n/)
        t.equal(csv.out.trimEnd().split('\n').length, rows.length + 1)
        for (const { out } of [listed, csv, await say({ json: true })]) t.notMatch(out, 'a secret word', 'no word of a request')
      }
      await check()
      program.child.kill('SIGTERM')
      t.equal((await program.exited).code, 0)
      await check()
    },
  )

t.test('words that make no command are 2', async (t) => {
  t.match(await printed((streams) => refusals(['all'], {}, streams)), { code: 2 })
  t.match(await printed((streams) => refusals([], { json: true, csv: true }, streams)), { code: 2 })
})
