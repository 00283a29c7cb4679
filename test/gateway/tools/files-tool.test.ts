/** The tool router:files over HTTP: the model lists, reads, writes and edits what belongs to the key, and nothing else. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { buildPdf } from '../../support/documents.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { type Asked, calls, formatRoutes, ran, type ToolScene, toolScene } from '../../support/tool-scene.ts'
import type { Utterance } from '../../support/wire.ts'

const OTHER = 'sk-router-v1-other0123456789abcdef'
const TOOLS = { tools: [{ type: 'router:files' }] }
const MARK = 'marked-words-4411'

interface WithFiles extends ToolScene {
  /** Next call of the model. */
  next: JsonObject[]
}

async function withFiles(t: Test, files = ''): Promise<WithFiles> {
  const plan: { next: JsonObject[] } = { next: [] }
  const script = (seen: Parameters<typeof ran>[0]): Utterance =>
    ran(seen) ? { text: ['Done.'] } : { calls: calls('router_files', ...plan.next) }
  const more = `
store: { url: "memory:"${files} }
auth: { keys: [ { name: test, key: "${KEY}" }, { name: other, key: "${OTHER}" } ] }`
  return Object.assign(plan, await toolScene(t, { script, more }))
}

async function put({ gateway }: WithFiles, bytes: Buffer | string, name: string, key = KEY): Promise<string> {
  const form = new FormData()
  form.append('file', new File([new Uint8Array(Buffer.from(bytes))], name))
  const reply = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: form })
  return String(((await reply.json()) as JsonObject).id)
}

/** Results for the model, one object per call. */
function told({ model }: WithFiles): JsonObject[] {
  const messages = model.requests.at(-1)?.json.messages as JsonObject[]
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(String(content)) as JsonObject)
}

/** Runs calls, and gives the first result, and the items that the caller sees. */
async function run(
  here: WithFiles,
  ...next: JsonObject[]
): Promise<{ result: JsonObject; error: string; items: JsonObject[]; asked: Asked }> {
  here.next = next
  const asked = await here.ask({ format: 'responses', stream: false }, TOOLS)
  const [first] = told(here)
  const items = asked.output.filter(({ type }) => type === 'router:files')
  return { result: (first.result ?? {}) as JsonObject, error: String(first.error ?? ''), items, asked }
}

t.test('write, list, read, edit: each as an item, and the files are there for their key', async (t) => {
  const here = await withFiles(t)
  const written = await run(here, { operation: 'write', filename: 'notes.md', content: `# Notes\n\n${MARK} and more` })
  t.match(written.result, { filename: 'notes.md', mime_type: 'text/markdown' })
  t.equal(written.items.length, 1)
  const [item] = written.items
  t.match(item, { type: 'router:files', status: 'completed', operation: 'write', file_id: written.result.file_id, filename: 'notes.md' })
  t.same(JSON.parse(String(item.result)), written.result)
  t.match(JSON.parse(String(item.arguments)), { operation: 'write' })
  t.match(item.call_id, /^call_/)

  const listed = await run(here, { operation: 'list' })
  t.match(listed.result, { files: [{ file_id: written.result.file_id, filename: 'notes.md' }], more: false })
  const read = await run(here, { operation: 'read', file_id: written.result.file_id ?? null })
  t.equal(read.result.content, `# Notes\n\n${MARK} and more`)

  const edited = await run(here, {
    operation: 'edit',
    file_id: written.result.file_id ?? null,
    old_text: 'and more',
    new_text: 'and $& less',
  })
  t.match(edited.result, { filename: 'notes.md', copied_from: written.result.file_id })
  t.not(edited.result.file_id, written.result.file_id, 'a copy with an id of its own')
  const content = async (id: unknown): Promise<string> => (await here.gateway.get(`/v1/files/${String(id)}/content`)).text()
  t.equal(await content(edited.result.file_id), `# Notes\n\n${MARK} and $& less`)
  t.equal(await content(written.result.file_id), `# Notes\n\n${MARK} and more`, 'the old one stays')
  const whole = await run(here, { operation: 'edit', file_id: written.result.file_id ?? null, filename: 'new.txt', content: 'all new' })
  t.match(whole.result, { filename: 'new.txt', bytes: 7 })
  t.equal(((await (await here.gateway.get('/v1/files')).json()) as { data: JsonObject[] }).data.length, 3)
  t.notMatch(here.gateway.logs.join('\n'), new RegExp(MARK), 'no content in the log')
})

t.test('returns an error to the model for an operation that fails, and continues the answer', async (t) => {
  const here = await withFiles(t, ', files: { max_file: 1KB }')
  const text = await put(here, 'twice twice', 'a.txt')
  const binary = await put(here, Buffer.from([0xff, 0xfe, 0x00, 0x9c]), 'a.bin')
  const theirs = await put(here, 'theirs', 'b.txt', OTHER)
  const cases: [JsonObject, RegExp][] = [
    [{ operation: 'delete' }, /^operation: expected one of/],
    [{}, /^operation: /],
    [{ operation: 'read' }, /^file_id: no such file/],
    [{ operation: 'read', file_id: theirs }, /^file_id: no such file/],
    [{ operation: 'read', file_id: '../../etc/passwd' }, /^file_id: no such file/],
    [{ operation: 'edit', file_id: theirs, content: 'mine' }, /^file_id: no such file/],
    [{ operation: 'read', file_id: binary }, /^file_id: the file is no text/],
    [{ operation: 'write', filename: 'x' }, /^content: /],
    [{ operation: 'write', content: 'x' }, /^filename: /],
    [{ operation: 'write', filename: 'a\nb', content: 'x' }, /^filename: /],
    [{ operation: 'write', filename: 'big', content: 'x'.repeat(1025) }, /larger than 1024 bytes/],
    [{ operation: 'edit', file_id: text }, /^content: /],
    [{ operation: 'edit', file_id: text, old_text: 'twice', new_text: 'once' }, /stands in the file 2 times/],
    [{ operation: 'edit', file_id: text, old_text: 'never', new_text: 'x' }, /stands in the file 0 times/],
    [{ operation: 'edit', file_id: text, old_text: 'twice twice' }, /^new_text: /],
  ]
  await every(t, 'every case', async (t) => {
    for (const [args, message] of cases) {
      const { error, items, asked } = await run(here, args)
      const where = JSON.stringify(args).slice(0, 80)
      t.match(error, message, where)
      t.match(items, [{ type: 'router:files', status: 'incomplete', error }], where)
      t.match(asked, { status: 200, body: { status: 'completed' } }, where)
    }
  })
  t.match(await here.ask({ format: 'responses', stream: false }, { tools: [{ type: 'router:files', parameters: { root: '/' } }] }), {
    status: 400,
    message: /^tools\[0\]\.parameters\.root: /,
  })
})

t.test('documents are read as words, and long ones in part', async (t) => {
  const here = await withFiles(t)
  const pdf = await put(here, buildPdf([`Page one ${MARK}`]), 'paper.pdf')
  t.match((await run(here, { operation: 'read', file_id: pdf })).result, { content: new RegExp(MARK), filename: 'paper.pdf' })
  const long = await put(here, 'x'.repeat(150_000), 'long.txt')
  const { result } = await run(here, { operation: 'read', file_id: long })
  t.equal(String(result.content).length, 100_000)
  t.equal(result.truncated, true)
  const page = await put(here, '<p>As it stands</p>', 'page.html')
  t.equal((await run(here, { operation: 'read', file_id: page })).result.content, '<p>As it stands</p>')
})

t.test('several calls of one turn at once', async (t) => {
  const here = await withFiles(t)
  const writes = Array.from({ length: 5 }, (_one, i) => ({ operation: 'write', filename: `${i}.txt`, content: String(i) }))
  const { items } = await run(here, ...writes)
  t.equal(new Set(items.map(({ file_id: id }) => id)).size, 5)
})

t.test('in every format, whole and streamed', async (t) => {
  const here = await withFiles(t)
  here.next = [{ operation: 'write', filename: 'a.txt', content: MARK }]
  await every(t, 'every way', async (t) => {
    for (const way of formatRoutes('chat', 'responses', 'messages')) {
      const asked = await here.ask(way, TOOLS)
      t.equal(asked.status, 200, asked.message)
      t.match(asked.raw, /Done\./, `${way.format} ${way.stream}`)
      t.match(asked.raw, /router:files/, `${way.format} ${way.stream}`)
      t.match(told(here), [{ result: { filename: 'a.txt' } }])
    }
  })
  t.equal(((await (await here.gateway.get('/v1/files')).json()) as { data: JsonObject[] }).data.length, 6)
})
