/** Parts that only the Messages format can say are recorded by every other wire, and nothing that the wire is sent. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { messagesClient } from '../../../src/dialects/messages/index.ts'
import { upstreamDialects } from '../../../src/dialects/registry.ts'
import { every } from '../../support/every.ts'

const TARGET = { model: 'm', stream: false, quirks: {}, user: 'pass' } as const
const user = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] })
const HELLO = { type: 'text', text: 'Hello' }
const FILE = { type: 'file', file_id: 'file_1' }

/** Field or block, and the name that stands in `dropped`; where absent the wire can say it. */
const CASES: readonly (readonly [body: JsonObject, recorded: Readonly<Record<string, string>>])[] = [
  [{ ...user(HELLO), mcp_servers: [{ type: 'url', name: 'x', url: 'https://x.example/' }] }, everywhere('mcp_servers')],
  [{ ...user(HELLO), compaction: { type: 'summarize' } }, everywhere('compaction')],
  [
    {
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: [{ type: 'compaction', content: 'So far.' }, HELLO] },
        { role: 'user', content: 'And?' },
      ],
    },
    everywhere('compaction'),
  ],
  [user(HELLO, { type: 'image', source: FILE }), { 'openai-chat': 'input_image.file_id', gemini: 'input_image.file_id' }],
  [user(HELLO, { type: 'document', source: FILE }), { gemini: 'input_file.file_id' }],
  [user(HELLO, { type: 'container_upload', file_id: 'file_1' }), everywhere('container_upload')],
  [{ ...user(HELLO), thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }, {}],
  [{ ...user(HELLO), thinking: { type: 'adaptive' } }, {}],
  [{ ...user(HELLO), thinking: { type: 'disabled' } }, {}],
  [{ ...user(HELLO), thinking: { type: 'adaptive', display: 'omitted' } }, {}],
  [{ ...user(HELLO), thinking: { type: 'adaptive', display: 'summarized' } }, { 'openai-chat': 'reasoning.summary' }],
  [{ ...user(HELLO), thinking: { type: 'adaptive', display: 'in_full' } }, everywhere('thinking.display')],
  [{ ...user(HELLO), thinking: { type: 'between_tools' } }, everywhere('thinking.type')],
  [{ ...user(HELLO), thinking: { type: 'adaptive', unheard_of: 1 } }, everywhere('thinking.unheard_of')],
  [
    { ...user(HELLO), thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 4096 },
    { 'openai-chat': 'reasoning.max_tokens', 'openai-responses': 'reasoning.max_tokens' },
  ],
]

function everywhere(name: string): Record<string, string> {
  return { 'openai-chat': name, 'openai-responses': name, gemini: name }
}

for (const wire of ['openai-chat', 'openai-responses', 'gemini', 'anthropic'])
  await every(t, wire, async (t) => {
    for (const [fields, recorded] of CASES) {
      const body: JsonObject = { model: 'm', max_tokens: 100, ...fields }
      messagesClient.check(body)
      const dropped = upstreamDialects.get(wire)?.encodeRequest(messagesClient.decodeRequest(body), TARGET).dropped
      t.same(dropped, recorded[wire] === undefined ? [] : [recorded[wire]], JSON.stringify(fields))
    }
  })
