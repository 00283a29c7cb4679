/** Parts of the plugin that are seen best by themselves: what it keeps in memory, and how notes come back. */
import t from 'tap'
import { noteParts, returnedNotes, withoutNotes } from '../../plugins/file-parser/annotations.ts'
import { mayBePdf } from '../../plugins/file-parser/file-parts.ts'
import { pagesPrice } from '../../plugins/file-parser/ocr.ts'
import { RecentNotes } from '../../plugins/file-parser/recent-notes.ts'
import type { Item } from '../../src/plugin-api/index.ts'

const note = (hash: string, characters = 10) => ({ hash, name: 'a', content: [{ type: 'text', text: 'x'.repeat(characters) }] })

t.test('what is kept in memory is bounded, and the oldest goes first', async (t) => {
  const recent = new RecentNotes()
  for (let i = 0; i < 20; i++) recent.put(`${i}`, note(`${i}`, 3_000_000), 0)
  t.same(
    Array.from({ length: 20 }, (_one, i) => i).filter((i) => recent.get(`${i}`, 1)),
    [15, 16, 17, 18, 19],
  )
  recent.put('huge', note('huge', 5_000_000), 0)
  t.equal(recent.get('huge', 1), undefined)
  t.ok(recent.get('19', 15 * 60_000 - 1))
  t.equal(recent.get('19', 15 * 60_000), undefined)
  recent.put('new', note('new'), 15 * 60_000)
  recent.put('new', note('newer'), 15 * 60_000)
  t.equal(recent.get('new', 15 * 60_000 + 1)?.hash, 'newer')
})

t.test('notes that come back, whatever else stands beside them', async (t) => {
  const flat = { type: 'file', ...note('flat') }
  const nested = { type: 'file', file: note('nested') }
  const cited = { type: 'file', ...note('cited') }
  const junk = [
    { type: 'file' },
    { type: 'file', file: { hash: 7, content: [] } },
    { type: 'file', hash: 'x', content: 'no' },
    { type: 'url_citation' },
    null,
  ]
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: null, annotations: [nested, ...junk] },
    { role: 'assistant', content: [{ type: 'text', text: 'x', citations: [cited] }] },
  ]
  t.same([...returnedNotes({ messages }).keys()], ['nested', 'cited'])
  const input = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [flat, ...junk] }] }]
  t.same([...returnedNotes({ input }).values()], [note('flat')])
  for (const body of [{}, { messages: 'x' }, { input: 'x' }, { input: [1, null, 'x'] }]) t.equal(returnedNotes(body).size, 0)
})

t.test('a returned note is parts for the model, and only what a model can read', async (t) => {
  const content = [
    { type: 'text', text: 'a' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
    { type: 'text', text: 7 },
    { type: 'other' },
    { type: 'image_url', image_url: 'x' },
  ]
  const image = { kind: 'media', media: 'image', url: 'data:image/png;base64,AA' }
  t.same(noteParts({ hash: 'x', name: 'a', content }, true), [{ kind: 'text', text: 'a' }, image])
  t.same(noteParts({ hash: 'x', name: 'a', content }, false), [{ kind: 'text', text: 'a' }])
})

t.test('notes go, other annotations stay', async (t) => {
  const url = { type: 'url_citation', url_citation: { url: 'https://a.example' } }
  const opaque = (annotations: unknown[]): Item =>
    ({
      kind: 'message',
      role: 'assistant',
      parts: [
        { kind: 'text', text: 'x' },
        { kind: 'opaque', of: { dialect: 'chat', type: 'annotations', data: { annotations } } },
      ],
    }) as Item
  const noted = { type: 'file', file: note('x') }
  t.same(withoutNotes(opaque([noted, url])), opaque([url]))
  t.same(withoutNotes(opaque([noted])), { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'x' }] })
  t.same(withoutNotes(opaque([url])), opaque([url]))
})

t.test('which files the service may be asked for, and what pages cost', async (t) => {
  const file = (url: string) => mayBePdf({ kind: 'media', media: 'file', url })
  for (const url of ['https://a.example/x', 'data:application/pdf;base64,AA', 'data:;base64,AA', 'data:application/octet-stream;base64,AA'])
    t.ok(file(url), url)
  for (const url of ['data:text/plain,x', 'data:text/csv;charset=utf-8;base64,AA']) t.notOk(file(url), url)
  t.notOk(mayBePdf({ kind: 'media', media: 'file', data: 'x', format: 'text' }))
  const disguised = Buffer.from('%PDF-1.7 and so on').toString('base64')
  for (const url of [`data:text/plain;base64,${disguised}`, 'data:text/plain,%25PDF-1.7']) t.ok(file(url), `${url}: the bytes tell`)
  t.ok(mayBePdf({ kind: 'media', media: 'file', data: '%PDF-1.7', format: 'text' }))
  const account = { url: '', key: '', model: '', thousand: 2_000_000_001, maxPages: 1 }
  t.equal(pagesPrice(1, account), 2_000_001, 'never less than what it costs')
  t.equal(pagesPrice(1000, account), 2_000_000_001)
  t.equal(pagesPrice(0, account), 0)
})
