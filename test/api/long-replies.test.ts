/** Replies of thousands of rows are written in pieces: the bytes are those of one text. */
import t from 'tap'
import { replyJson } from '../../src/api/index.ts'
import type { JsonObject } from '../../src/core/json.ts'

for (const count of [0, 500, 501, 1_000, 1_234])
  t.test(`${count} rows, between other members`, async (t) => {
    const data = Array.from({ length: count }, (_, at) => ({ name: `Schlüssel "${at}"`, cost: at / 8 }))
    const bodies: JsonObject[] = [{ data }, { data, has_more: true, next: null }, { total: 7, data, more: data, until: '2026-01-01' }]
    for (const body of bodies) {
      const json = await replyJson(body)
      t.equal(typeof json === 'string' ? json : Buffer.concat([...json]).toString(), JSON.stringify(body))
    }
  })
