/** multipart/form-data in pieces: the same whatever the cuts, and nothing of a part is held back for long. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type FormPiece, FormReader, formBoundary, partHead } from '../../src/server/multipart.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const BOUNDARY = 'XyZ'

interface Part {
  name: string
  filename: string | undefined
  bytes: Buffer
}

function written(parts: readonly Part[], { preamble = '', epilogue = '' } = {}): Buffer {
  const pieces: Buffer[] = [Buffer.from(preamble)]
  for (const [i, { name, filename, bytes }] of parts.entries()) {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const start = i === 0 && preamble === '' ? '' : '\r\n'
    pieces.push(Buffer.from(`${start}--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`), bytes)
  }
  pieces.push(Buffer.from(`\r\n--${BOUNDARY}--${epilogue}`))
  return Buffer.concat(pieces)
}

/** Cuts at the given places, and joins what was said of each part. */
function read(body: Buffer, cuts: readonly number[]): Part[] {
  const reader = new FormReader(BOUNDARY)
  const pieces: FormPiece[] = []
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    pieces.push(...reader.push(body.subarray(from, cut)))
    from = Math.max(from, cut)
  }
  pieces.push(...reader.push(body.subarray(from)))
  reader.end()
  const parts: Part[] = []
  let open = false
  for (const piece of pieces) {
    const last = parts.at(-1)
    if (piece.kind === 'part') {
      if (open) throw new Error('a part begins inside another')
      parts.push({ name: piece.head.name, filename: piece.head.filename, bytes: Buffer.alloc(0) })
      open = true
    } else if (!last || !open) throw new Error('bytes outside of a part')
    else if (piece.kind === 'bytes') last.bytes = Buffer.concat([last.bytes, piece.bytes])
    else open = false
  }
  if (open) throw new Error('a part that does not end')
  return parts
}

/** Bytes that look like a delimiter as often as they can without being one. */
const tricky = fc
  .array(
    fc.constantFrom('\r', '\n', '-', '--', '\r\n', '\r\n--', '\r\n-', `--${BOUNDARY}`, `\r\n--${BOUNDARY.slice(0, 2)}`, '\0', 'ü', 'Xy'),
    {
      maxLength: 20,
    },
  )
  .map((words) => words.join('').replaceAll(`\r\n--${BOUNDARY}`, ''))
  .filter((text) => !`\r\n${text}\r\n`.includes(`\r\n--${BOUNDARY}`))
  .map((text) => Buffer.from(text))
const part = fc.record(
  {
    name: fc.constantFrom('file', 'purpose', 'a b'),
    filename: fc.option(fc.constantFrom('a.txt', 'ü.pdf', ''), { nil: undefined }),
    bytes: tricky,
  },
  { noNullPrototype: true },
)

t.test('whatever the parts and the cuts, the same parts come out', async (t) => {
  const forms = fc.record({
    parts: fc.array(part, { minLength: 1, maxLength: 4 }),
    preamble: fc.constantFrom('', 'nothing', '--', 'x\r\n-'),
    epilogue: fc.constantFrom('', '\r\n', '\r\nmore\r\n--XyZ\r\n'),
    cuts: fc.array(fc.nat(400), { maxLength: 30 }),
  })
  fc.assert(
    fc.property(forms, ({ parts, preamble, epilogue, cuts }) => {
      const body = written(parts, { preamble, epilogue })
      const whole = read(body, [])
      assert.deepEqual(whole, parts)
      const found = read(
        body,
        cuts.map((cut) => cut % (body.length + 1)),
      )
      if (JSON.stringify(found) !== JSON.stringify(whole)) throw new Error('the cuts make a difference')
      return true
    }),
    property(1000, 20_000),
  )
  t.pass('every form')
})

t.test('byte by byte', async (t) => {
  const parts: Part[] = [
    { name: 'purpose', filename: undefined, bytes: Buffer.from('user_data') },
    { name: 'file', filename: 'a.bin', bytes: Buffer.from('\r\n--Xy\r\n--\r\n') },
    { name: 'file', filename: '', bytes: Buffer.alloc(0) },
  ]
  const body = written(parts)
  t.same(
    read(
      body,
      Array.from(body, (_byte, i) => i),
    ),
    parts,
  )
})

t.test('what other clients write is read the same', async (t) => {
  const form = new FormData()
  form.append('purpose', 'user_data')
  form.append('file', new File(['hello\r\n--there'], 'a "b"\\c.txt', { type: 'text/plain' }))
  const request = new Request('http://127.0.0.1/', { method: 'POST', body: form })
  const reader = new FormReader(formBoundary(request.headers.get('content-type') ?? undefined))
  const pieces = reader.push(Buffer.from(await request.arrayBuffer()))
  reader.end()
  t.same(
    pieces.filter(({ kind }) => kind === 'part').map((piece) => piece.kind === 'part' && piece.head),
    [
      { name: 'purpose', filename: undefined, type: '' },
      { name: 'file', filename: 'a "b"\\c.txt', type: 'text/plain' },
    ],
  )
})

t.test('a form that is cut short anywhere is refused at its end', async (t) => {
  const body = written([{ name: 'file', filename: 'a', bytes: Buffer.from('some bytes') }])
  await every(t, 'every round', async (t) => {
    for (let end = 0; end < body.length; end++) {
      const reader = new FormReader(BOUNDARY)
      reader.push(body.subarray(0, end))
      t.throws(() => reader.end(), { code: 'bad_request' }, `${end} bytes`)
    }
  })
})

t.test('bytes of a part are handed on at once, but for what may begin a delimiter', async (t) => {
  const reader = new FormReader(BOUNDARY)
  reader.push(Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\n`))
  let out = 0
  await every(t, 'every round', async (t) => {
    for (let i = 1; i <= 100; i++) {
      for (const piece of reader.push(Buffer.alloc(1000, 0x0d))) if (piece.kind === 'bytes') out += piece.bytes.length
      t.ok(i * 1000 - out < BOUNDARY.length + 4, `${i * 1000 - out} bytes are held`)
    }
  })
})

t.test('what is no such form', async (t) => {
  const head = 'Content-Disposition: form-data; name="file"'
  const cases: [string, RegExp][] = [
    [`--${BOUNDARY}x\r\n`, /end of its line/],
    [`--${BOUNDARY}${' '.repeat(80)}\r\n`, /blanks/],
    [`--${BOUNDARY}\r\nX: ${'x'.repeat(9000)}`, /head of a part is too long/],
    [`--${BOUNDARY}\r\nX: y\r\n\r\n`, /content-disposition: expected form-data with a name/],
    [`--${BOUNDARY}\r\n\r\n\r\n`, /content-disposition/],
    [`--${BOUNDARY}\r\nContent-Disposition: attachment; name="file"\r\n\r\n`, /content-disposition/],
    [`--${BOUNDARY}\r\n${head}\r\nContent-Transfer-Encoding: base64\r\n\r\n`, /content-transfer-encoding/],
    [`--${BOUNDARY}\r\n${head}\r\n\r\n\r\n`.repeat(70), /more than 64 parts/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [text, expected] of cases)
      t.throws(() => new FormReader(BOUNDARY).push(Buffer.from(text)), { code: 'bad_request', message: expected }, text.slice(0, 60))
  })
})

t.test('the boundary', async (t) => {
  t.equal(formBoundary('multipart/form-data; boundary=abc'), 'abc')
  t.equal(formBoundary('Multipart/Form-Data;charset=utf-8; Boundary="a b"'), 'a b')
  await every(t, 'every type', async (t) => {
    for (const type of [undefined, 'application/json', 'multipart/mixed; boundary=a', 'multipart/form-datax; boundary=a'])
      t.throws(() => formBoundary(type), { code: 'media_type' }, String(type))
  })
  await every(t, 'every type', async (t) => {
    for (const type of [
      'multipart/form-data',
      'multipart/form-data; boundary=',
      `multipart/form-data; boundary=${'a'.repeat(71)}`,
      'multipart/form-data; boundary="a "',
    ])
      t.throws(() => formBoundary(type), { code: 'bad_request' }, type)
  })
})

t.test('names of files in their forms', async (t) => {
  const named = (rest: string): string | undefined => partHead(`content-disposition: form-data; name=file${rest}`).filename
  t.equal(named(''), undefined)
  t.equal(named('; filename=a.txt'), 'a.txt')
  t.equal(named('; filename="a;b.txt"'), 'a;b.txt')
  t.equal(named('; filename="a\\"b.txt"'), 'a"b.txt')
  t.equal(named('; filename="C:\\dir\\a.txt"'), 'C:\\dir\\a.txt')
  t.equal(named('; filename="a%22b.txt"'), 'a"b.txt')
  t.equal(named("; filename=plain.txt; filename*=UTF-8''%C3%BC.txt"), 'ü.txt')
  t.equal(named("; filename=plain.txt; filename*=UTF-8''%FF.txt"), 'plain.txt')
  t.equal(named('; filename="ü.txt"'), 'ü.txt')
  t.equal(partHead('Content-Disposition: form-data; name=a\r\nContent-Type: Text/Plain; charset=x').type, 'text/plain')
  t.equal(partHead('Content-Disposition: form-data; name=a\r\nContent-Type: <b>').type, '')
})
