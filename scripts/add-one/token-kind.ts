/** A kind of token: those of videos that a model writes, which providers of the chat wire count and endpoints price. */
import type { Addition } from './frame/addition.ts'

export const addition: Addition = {
  name: 'token-kind',
  change: 'a kind of token',
  recipe:
    'its row in `src/core/token-kinds.ts`; for each wire that counts it the reader of its usage and its line in `src/dialects/canon/usage-members.ts`; its test. `npm run generate` writes what every request runs',
  most: 4,
  edits: [
    {
      file: 'src/core/token-kinds.ts',
      find: "  {\n    rate: 'audio',\n",
      replace: `  {
    rate: 'videoOutput',
    price: 'video_output',
    side: 'output',
    count: 'videoOutput',
    bill: 'video_output',
    listed: 'video_output',
    text: 'output tokens of videos',
    fallback: 'completion',
  },
  {
    rate: 'audio',
`,
    },
    {
      file: 'src/dialects/chat/usage.ts',
      find: '  if (written.long > 0) own.cacheWriteLong = written.long\n',
      replace:
        '  if (written.long > 0) own.cacheWriteLong = written.long\n  if (count(out.video_tokens) > 0) own.videoOutput = count(out.video_tokens)\n',
    },
    {
      file: 'src/dialects/canon/usage-members.ts',
      find: '      completion_tokens_details.image_tokens\n',
      replace: '      completion_tokens_details.image_tokens completion_tokens_details.video_tokens\n',
    },
    {
      file: 'test/gateway/money/video-tokens.test.ts',
      text: `import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

t.test('tokens of videos cost their own price, and lists show it', async (t) => {
  const { gateway, ask, rows } = await startScene(t, {
    answer: () =>
      jsonAnswer({
        choices: [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 100, completion_tokens_details: { video_tokens: 90 } },
      }),
    config: (url) => \`
auth: { keys: [ { name: test, key: sk-router-v1-0123456789abcdef0123456789abcdef } ] }
providers: { chat: { dialect: openai-chat, base_url: "\${url}/v1", key: sk-up } }
models: { acme/one: { endpoints: [ { provider: chat, model: m, price: { prompt: "1.00", completion: "2.00", video_output: "30.00" } } ] } }
\`,
  })
  t.equal((await ask()).status, 200)
  t.equal(rows()[0]?.settled?.cost, 10_000 + 20_000 + 2_700_000)
  const { data } = (await (await gateway.get('/v1/models')).json()) as { data: JsonObject[] }
  t.match(data[0]?.pricing, { video_output: '0.00003' })
})
`,
    },
  ],
  test: ['gateway/money/video-tokens', 'ledger/pricing', 'ledger/bill-lines', 'dialects/chat/reply', 'gateway/money/money-kinds'],
}
