/** Words of a form are the same however its bytes are cut, and words of prose cost no look-up. */
import t from 'tap'
import { FormScan } from '../../src/pipeline/pass-through/form-scan.ts'
import { every } from '../support/every.ts'

const TYPE = 'multipart/form-data; boundary=bound'
const FILE_PART = '--bound\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'

function pieceWords(pieces: readonly Buffer[]): string[] {
  const words: string[] = []
  const scan = new FormScan(TYPE, (text) => words.push(text))
  for (const piece of pieces) scan.push(piece)
  scan.end()
  return words
}

t.test('a field and what follows the last border are found wherever the bytes are cut', async (t) => {
  // Longer than what is looked at together, so that the cut is one for the scan as well.
  const before = Buffer.from(`${FILE_PART}${'word of a file '.repeat(300)}`)
  const field = '\r\n--bound\r\nContent-Disposition: form-data; name="file_id"\r\n\r\nfile-abc123'
  const end = '\r\n--bound--\r\nfile-def456'
  await every(t, 'every cut', async (t) => {
    for (const after of [Buffer.from(field + end), Buffer.from(end)])
      for (let at = 0; at <= after.length; at++) {
        const found = pieceWords([Buffer.concat([before, after.subarray(0, at)]), after.subarray(at)])
        const ids = found.filter((word) => word.startsWith('file-'))
        t.same(ids, ['file-abc123', 'file-def456'].slice(after.includes('abc') ? 0 : 1), `${at}`)
        t.notOk(found.includes('word'), `${at}: no word of the file`)
      }
  })
  const whole = Buffer.concat([before, Buffer.from(field + end)])
  t.same(pieceWords([...whole].map((byte) => Buffer.from([byte]))), pieceWords([whole]))
})

t.test('an id in a word that is longer than what is kept of one is found whole', async (t) => {
  const head = Buffer.from('--bound\r\nContent-Disposition: form-data; name="address"\r\n\r\n')
  await every(t, 'every place', async (t) => {
    for (let before = 8_970; before < 9_010; before++) {
      const value = Buffer.from(`${'x'.repeat(before)}/file-abc123/${'y'.repeat(9_000)}\r\n--bound--\r\n`)
      const pieces = [head, ...[0, 9_000].map((at) => value.subarray(at, at + 9_000)), value.subarray(18_000)]
      t.ok(
        pieceWords(pieces).some((word) => word.includes('/file-abc123/')),
        `${before}`,
      )
    }
  })
})

t.test('of a megabyte of prose few words are looked up, and all that may be ids', async (t) => {
  const line = 'The committee met on Tuesday to discuss file-abc123, and others (see page 12): most members agreed.\n'
  const body = `--bound\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n${line.repeat(10_000)}\r\n--bound--\r\n`
  const words = pieceWords([Buffer.from(body)])
  t.equal(words.filter((word) => word === 'file-abc123,').length, 10_000)
  t.ok(words.length < 50_000, `${words.length} of 160,000 words`)
})
