/** A column of the ledger: the tokens of audio that a generation has written, with its sums, exports and lists. */
import type { Addition } from './frame/addition.ts'

export const addition: Addition = {
  name: 'column',
  change: 'a column of the ledger: a count that each generation has',
  recipe:
    'its row in `src/core/ledger-counts.ts`, with the version of the schema that adds it; its test. `npm run generate` writes the step of SQLite and what every request runs; columns, sums, functions of PostgreSQL, exports and lists are made of the row',
  most: 6,
  edits: [
    {
      file: 'src/core/ledger-counts.ts',
      find: "shown: 'reasoning', byDay: true },\n",
      replace:
        "shown: 'reasoning', byDay: true },\n  { column: 'audio_output', count: 'audioOutput', side: 'output', shown: 'audio_output', byDay: true, since: 31 },\n",
    },
    {
      file: 'test/gateway/money/audio-column.test.ts',
      text: `import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { exportRow } from '../../../src/ledger/export.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

t.test('tokens of audio stand in rows, exports and lists', async (t) => {
  const { gateway, ask, rows } = await startScene(t, {
    yaml: 'auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef" }, { name: boss, key: "sk-router-v1-boss123456789abcdef", management: true } ] }',
    answer: () =>
      jsonAnswer({
        choices: [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 100, completion_tokens_details: { audio_tokens: 90 } },
      }),
  })
  t.equal((await ask({ session_id: 'one' })).status, 200)
  const [row] = rows()
  t.equal(row?.settled?.audioOutput, 90)
  t.equal(row && exportRow(row).usage.audio_output_tokens, 90)
  for (const list of ['/v1/sessions', '/v1/activity/keys']) {
    const { data } = (await (await gateway.get(list, { authorization: 'Bearer sk-router-v1-boss123456789abcdef' })).json()) as { data: JsonObject[] }
    t.match(data[0], { audio_output_tokens: 90 }, list)
  }
})
`,
    },
  ],
  test: [
    'gateway/money/audio-column',
    'store/upgrade',
    'store/contract',
    'store/rollups.test',
    'store/session-sums.test',
    'store/schema-steps',
    'store/migrations',
  ],
}
