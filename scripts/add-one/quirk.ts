/** A quirk: a provider that takes few stop sequences. */
import type { Addition } from './frame/addition.ts'

export const addition: Addition = {
  name: 'quirk',
  change: 'a quirk',
  recipe:
    'a line in the table `quirks.ts` of its dialect (`openai-chat` is the folder `chat` of `src/dialects/`, `anthropic` the folder `messages`), its reader (mostly `fit-request.ts` or another `fit-*.ts` of that folder), and its test. A field that only has another name needs none: `quirks.body.rename` in the preset',
  most: 3,
  edits: [
    {
      file: 'src/dialects/chat/quirks.ts',
      find: "  stop: choiceQuirk('`list`",
      replace: "  one_stop: flag('True: the provider takes one stop sequence; the others are left out.'),\n  stop: choiceQuirk('`list`",
    },
    {
      file: 'src/dialects/chat/fit-request.ts',
      find: "  if (quirks.stop === 'list'",
      replace:
        "  if (quirks.one_stop === true && Array.isArray(body.stop)) body.stop = body.stop.slice(0, 1)\n  if (quirks.stop === 'list'",
    },
    {
      file: 'src/dialects/chat/fit-request.ts',
      find: "'boolean_schemas', 'stop'] as const",
      replace: "'boolean_schemas', 'one_stop', 'stop'] as const",
    },
    {
      file: 'test/providers/one-stop.test.ts',
      text: `/** A provider that takes one stop sequence. */
import t from 'tap'
import { startScene } from '../support/scene.ts'

t.test('the first stop sequence is sent, the others are left out', async (t) => {
  const { ask, upstream } = await startScene(t, { provider: 'quirks: { one_stop: true }' })
  t.equal((await ask({ stop: ['END', 'STOP'] })).status, 200)
  t.same((await upstream.request(0)).json.stop, ['END'])
})
`,
    },
  ],
  test: ['test/providers/one-stop', 'test/dialects/quirks'],
}
