/**
 * A member of usage that nothing knows may be money that nothing charges: it is reported of each wire, streamed and whole, to callers of all
 * formats; counted as often as it comes; and `headgate providers drift` shows it once, without its value.
 */
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { runProgram } from '../support/program.ts'
import { CLIENTS } from '../support/providers.ts'
import { startScene } from '../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../support/upstream.ts'
import { framesWith, REPORTS, replyWith } from '../support/usage-reports.ts'
import type { WireName } from '../support/wire.ts'

const WIRES = Object.keys(REPORTS) as WireName[]
/** An amount of a kind that does not exist yet, and the name of a caller's secret as a member. */
const STRANGE = { hologram_tokens: 48_151_623, 'sk-a secret': 4 }

t.test('is reported of every wire, and counted per provider', async (t) => {
  for (const wire of WIRES)
    await every(t, wire, async (t) => {
      const report = { ...REPORTS[wire]({ input: 100, output: 10 }), ...STRANGE }
      const { ask, gateway } = await startScene(t, {
        dialect: wire,
        answer: (seen) =>
          seen.json.stream === true || seen.path.includes('streamGenerateContent')
            ? sseAnswer(framesWith(wire, [report]))
            : jsonAnswer(replyWith(wire, report)),
      })
      const words = (): JsonObject[] =>
        gateway.logs.filter((line) => line.includes('a provider sent a word that is not known')).map((line) => JSON.parse(line))
      for (const client of CLIENTS)
        for (const stream of [false, true]) {
          const reply = await ask({ stream }, client)
          const text = await reply.text()
          t.equal(reply.status, 200, text)
        }
      await eventually('the line', () => words().length > 0)
      t.same(
        words().map(({ provider, kind, word }) => [provider, kind, word]),
        [['first', 'usage', 'hologram_tokens']],
      )
      t.notMatch(gateway.logs.join('\n'), /48151623|sk-a secret/, 'neither its value, nor what is no name')
      const metrics = await (await fetch(`${gateway.admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text()
      t.match(metrics, `headgate_unknown_words_total{provider="first",kind="usage"} ${CLIENTS.length * 2}`)
    })
})

t.test('headgate providers drift shows it once, from the running gateway and from its store', async (t) => {
  const directory = t.testdir()
  const [port, admin] = await freePorts(2)
  const report = { ...REPORTS['openai-chat']({ input: 100, output: 10 }), ...STRANGE }
  const scene = await startScene(t, {
    directory,
    answer: () => jsonAnswer(replyWith('openai-chat', report)),
    config: (url) => `
server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}, token: ${ADMIN_TOKEN} }
store: { url: "sqlite:${join(directory, 'ledger.db')}" }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1" } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }
`,
  })
  const drift = async (...more: string[]): Promise<string> => {
    const program = runProgram(['providers', 'drift', '--config', join(directory, 'headgate.yaml'), ...more])
    t.equal((await program.exited).code, 0, program.err())
    return program.out()
  }
  t.match(await drift(), /^Providers have sent no word that headgate does not know\.$/m)
  for (let times = 0; times < 3; times++) await (await scene.ask()).text()
  await eventually('the row', async () => /hologram_tokens/.test(await drift()))
  const shown = await drift()
  t.match(shown, /^\s*provider +kind +word +first seen\s*$/m)
  t.equal(shown.match(/^ *first +usage +hologram_tokens +\S+$/gm)?.length, 1, shown)
  t.notMatch(shown, /48151623|secret/)
  const { data } = JSON.parse(await drift('--json')) as { data: JsonObject[] }
  t.match(data, [{ type: 'headgate.provider.unknown_word', data: { provider: 'first', kind: 'usage', word: 'hologram_tokens' } }])
  await scene.gateway.close()
  t.match(await drift(), /^ *first +usage +hologram_tokens/m, 'where no gateway runs')
})
