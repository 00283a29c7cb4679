/** The table of provider errors by itself: its form, and how long hostile text may keep it. */
import t from 'tap'
import { FAULTS } from '../../src/core/faults.ts'
import type { Json } from '../../src/core/json.ts'
import { decodeFault as ofBedrock } from '../../src/dialects/bedrock/fault.ts'
import { decodeFault as ofChat } from '../../src/dialects/chat/fault.ts'
import { decodeFault as ofEmbeddings } from '../../src/dialects/embeddings/provider-fault.ts'
import { ROWS } from '../../src/dialects/faults/rows.ts'
import { decodeFault as ofGemini } from '../../src/dialects/gemini/fault.ts'
import { decodeFault as ofMessages } from '../../src/dialects/messages/fault.ts'
import { decodeFault as ofResponses } from '../../src/dialects/responses/fault.ts'
import { every } from '../support/every.ts'

const WIRES: Readonly<Record<string, (status: number, body: Json | undefined) => { code: keyof typeof FAULTS }>> = {
  chat: ofChat,
  responses: ofResponses,
  messages: ofMessages,
  gemini: ofGemini,
  bedrock: ofBedrock,
  embeddings: ofEmbeddings,
}

t.test('every row has a source, and something that it looks at', async (t) => {
  await every(t, 'every row', (t) => {
    for (const row of ROWS) {
      t.not(row.source, '', row.kind)
      t.ok(row.status ?? row.word ?? row.sentence ?? row.text, `${row.kind}: ${row.source}`)
    }
  })
})

t.test('no pattern of the table repeats without a bound', async (t) => {
  await every(t, 'every pattern', (t) => {
    for (const { word, sentence, text, field } of ROWS)
      for (const pattern of [word, sentence, text, field]) {
        if (!pattern) continue
        // Brackets hold plain signs; what is left may repeat at most so often, and never within a repetition.
        const bare = pattern.source.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x')
        t.notMatch(bare, /[+*]|\{\d+,\}/, pattern.source)
      }
  })
})

t.test('on every wire, 4xx other than 400, 409, 413 and 422 does not blame the caller', async (t) => {
  await every(t, 'every status', (t) => {
    for (const [wire, decode] of Object.entries(WIRES))
      for (let status = 401; status < 500; status++) {
        if ([409, 413, 422].includes(status)) continue
        const { code } = decode(status, { error: { message: 'x' } })
        t.not(FAULTS[code].blame, 'caller', `${wire} ${status}: ${code}`)
      }
  })
})

t.test('hostile text keeps the table for a few milliseconds at most', async (t) => {
  const size = 100_000
  const pieces = [
    'x',
    ' ',
    'key ',
    'token ',
    'input is ',
    'account ',
    'permission ',
    'encrypted content ',
    'invalid thinking',
    '`',
    "'a",
    '"',
    'model ',
    'size ',
    'tokens ',
    'usage limits ',
    'reached your a ',
    'team ',
    'payload ',
    'input (1',
    'thinking blocks ',
    'permissiondenied ',
    'messages.0.a.',
    'limit a a a ',
  ]
  await every(t, 'every text', (t) => {
    for (const [wire, decode] of Object.entries(WIRES))
      for (const piece of pieces) {
        const message = piece.repeat(Math.ceil(size / piece.length))
        for (const status of [400, 403, 429, 500]) {
          const body = { error: { message, type: message, code: 'x', param: message, metadata: { raw: message } }, errors: [message] }
          const before = process.cpuUsage()
          decode(status, body)
          const { user, system } = process.cpuUsage(before)
          t.ok(user + system < 50_000, `${wire} ${status} ${JSON.stringify(piece)}: ${user + system} µs`)
        }
      }
  })
})
