/** What clients really do and what headgate makes of it: the rows of docs/behaviour/clients.md, which `npm run generate` writes from here. */
import type { BehaviourRow } from './behaviour-row.ts'

const PAUSE = ['gateway/retry-after', 'a pause that a provider states'] as const
const LESS = 'No reply has a `Retry-After` above 60 s; a longer pause has `X-Should-Retry: false`, and its true length in the error'

export const CLIENT_ROWS: readonly BehaviourRow[] = [
  {
    who: 'openai (npm)',
    version: '7.59.0',
    input: '429 with `Retry-After: 61`',
    does: 'Calls again after half a second; it waits for pauses of up to 60 s',
    makes: LESS,
    tests: [PAUSE],
  },
  {
    who: 'openai (npm)',
    version: '7.59.0',
    input: '429 with `Retry-After: 0`',
    does: 'Calls again at once',
    makes: 'No reply has a `Retry-After` of 0',
    tests: [PAUSE],
  },
  {
    who: 'openai (PyPI)',
    version: '3.57.0',
    input: '429 with `Retry-After: 121`',
    does: 'Gives up without a second call; it waits for pauses of up to 120 s',
    makes: LESS,
    tests: [PAUSE],
  },
  {
    who: '@anthropic-ai/sdk (npm), anthropic (PyPI)',
    version: '1.14.0, 2.14.0',
    input: '429 with `Retry-After: 86400`',
    does: 'Sleeps for a day',
    makes: LESS,
    tests: [PAUSE],
  },
  {
    who: 'async-openai (Rust)',
    version: '0.43.0',
    input: 'An error whose `code` is a number',
    does: 'The error is lost, and a 429 is not tried again',
    makes: '`errors.code: auto` gives it a name',
    tests: [
      ['gateway/error-codes', 'auto: async-openai sends no User-Agent by itself, and what reqwest sends'],
      ['gateway/error-codes', 'auto: clients that need a name get one, all others the status'],
    ],
  },
  {
    who: '@anthropic-ai/sdk (npm), the tool runner',
    version: '1.14.0',
    input: 'The result of a tool, at any server',
    does: 'Sends `thread` and the newest messages alone, as if the server kept the conversation',
    makes: 'It goes to a provider that keeps threads; otherwise it is a 400 in the words on which the SDK sends all of it',
    tests: [['clients/anthropic', 'the tool runner sends anthropic the whole conversation, since it keeps no threads']],
  },
  {
    who: 'AI SDK, `@ai-sdk/openai` with its defaults',
    version: 'as docs/clients.md has it',
    input: 'A second turn in the format of Responses',
    does: 'Names earlier items by their ids alone',
    makes: 'References are left out and recorded where the conversation is whole without them; otherwise the error names the cure',
    tests: [
      ['clients/references', 'AI SDK with its defaults: a model of openai-chat that thinks before it calls'],
      ['clients/references', 'AI SDK with its defaults: the text of a model of openai-chat is in the client alone'],
    ],
  },
]
