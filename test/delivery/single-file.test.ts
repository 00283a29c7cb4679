/**
 * The single file: built from the sources, copied alone into an empty folder, and used there without a Node, a package or a source
 * beside it: what it serves, its workers, its threads, a plugin from disk and commands in the sandbox (decision 23).
 */
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { API_VERSION } from '../../src/plugin-api/index.ts'
import { sandboxYaml } from '../support/bubblewrap.ts'
import { buildPdf } from '../support/documents.ts'
import { eventually } from '../support/eventually.ts'
import { follow, type Program } from '../support/program.ts'
import { jsonAnswer, type Seen, startUpstream, type Upstream } from '../support/upstream.ts'
import { controlRoom } from './control-room.ts'
import { singleFile, stripped } from './single-file.ts'
import { checkSize } from './sizes.ts'

/**
 * Milliseconds of processor time from the start to the first answer: of time on the clock a busy machine says nothing. It takes some 700; where
 * two programs share a processor each of its milliseconds does half as much.
 */
const QUICK = 1_500
/** Milliseconds of one unit of a process's times in /proc (proc(5), `_SC_CLK_TCK`). */
const TICK = 10
const MAX_BYTES = 150_000_000
/** Milliseconds for all of it, with the builds. */
const TIMEOUT_MS = 300_000

t.setTimeout(TIMEOUT_MS)
const built = singleFile()
const work = mkdtempSync(join(tmpdir(), 'headgate-single-file-'))
t.teardown(() => execFileSync('sh', ['-c', 'chmod -R u+rwX "$1"; rm -rf "$1"', 'sh', work], { stdio: 'ignore' }))
const program = join(work, 'headgate')
copyFileSync(join(built, 'headgate'), program)

const KEY = 'sk-router-v1-app-0123456789abcdef'
/** Nothing of the tests' own Node: neither its path nor its options. */
const ENV = { PATH: '/usr/bin:/bin', HOME: work }

function writeFile(t: Test, text: string): string {
  const folder = mkdtempSync(join(work, 'case-'))
  writeFileSync(join(folder, 'headgate.yaml'), text)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const config = (provider: string, more = ''): string => `server: { port: 0 }
admin: { port: 0 }
auth: { keys: [ { name: app, key: ${KEY} } ] }
providers: { sim: { dialect: sim }, acme: { dialect: openai-chat, base_url: "${provider}/v1", key: k } }
models:
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] }
  acme/one: { endpoints: [ { provider: acme, model: one, price: free } ] }
${more}
`

interface Served extends Program {
  readonly url: string
  readonly admin: string
}

async function serve(t: Test, cwd: string, args: readonly string[] = []): Promise<Served> {
  const words = ['serve', ...args]
  const running = follow(spawn(program, words, { cwd, env: ENV, stdio: ['ignore', 'pipe', 'pipe'] }))
  t.teardown(() => running.child.kill('SIGKILL'))
  const [, url = '', admin = ''] = await running.until(/listens on (http:\S+) \(admin on (http:[^\s)]+)/)
  return { ...running, url, admin }
}

const post = (url: string, path: string, body: object): Promise<Response> =>
  fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const streamed = { model: 'sim/echo', stream: true, messages: [{ role: 'user', content: 'Hello' }] }

/** A provider that calls `router_shell` while it has no result of it, and otherwise repeats what it was sent. */
async function provider(t: Test): Promise<Upstream> {
  const one = await startUpstream((seen: Seen) => {
    const { messages, tools } = seen.json as { messages: { role: string }[]; tools?: unknown[] }
    const call = { id: 'call_1', type: 'function', function: { name: 'router_shell', arguments: '{"commands":["echo $((40+2))"]}' } }
    const calls = tools && !messages.some(({ role }) => role === 'tool')
    const message = calls
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: JSON.stringify(messages) }
    const choices = [{ index: 0, message, finish_reason: calls ? 'tool_calls' : 'stop' }]
    const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 }
    return jsonAnswer({ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'one', choices, usage })
  })
  t.teardown(() => one.close())
  return one
}

/** Of a process and all its threads, in milliseconds. */
function processorTime(pid: number | undefined): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user = 0, system = 0] = rest.split(' ').slice(11, 13).map(Number)
  return (user + system) * TICK
}

const run = (cwd: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd, env: ENV, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

t.test('commands', async (t) => {
  const folder = writeFile(t, config('http://127.0.0.1:9'))
  t.equal(run(folder, '--version').trim(), '0.1.0')
  t.match(run(folder, 'check', 'headgate.yaml'), /ok|good|models/i)
  t.match(run(folder, 'providers', 'list'), /bedrock[\s\S]*openai/, 'the presets are inside')
  t.match(run(folder, 'models', 'list'), /sim\/echo/, 'the shipped configuration is inside')
  run(folder, 'docs', '--out', 'pages')
  t.ok(existsSync(join(folder, 'pages')), 'the pages of the reference are inside')
  t.match(run(folder, 'manual', 'agents#try-an-agent-without-a-provider'), /^## Try an agent/, 'and those of the documents')
  const { size } = statSync(program)
  t.ok(size < MAX_BYTES, `${(size / 1e6).toFixed(1)} MB`)
  checkSize(t, stripped() ? 'single_file_stripped' : 'single_file', size)
})

t.test('it serves at once after its start', async (t) => {
  const folder = writeFile(t, config('http://127.0.0.1:9'))
  run(folder, '--version')
  const begun = performance.now()
  const { url, admin, child, exited, err } = await serve(t, folder, ['--config', 'headgate.yaml'])
  const text = await (await post(url, '/v1/chat/completions', streamed)).text()
  const took = performance.now() - begun
  t.match(text, /Hello[\s\S]*data: \[DONE\]/)
  const spent = processorTime(child.pid)
  t.comment(`from the start to the first whole stream: ${took.toFixed(0)} ms, of which ${spent} ms of processor time`)
  t.ok(spent > 0 && spent < QUICK, `${spent} ms`)
  const pages = await Promise.all(['/docs', '/docs/page.css', '/docs/page.js', '/openapi.json'].map((path) => fetch(url + path)))
  t.same(
    pages.map(({ status }) => status),
    [200, 200, 200, 200],
    'the pages are inside',
  )
  await controlRoom(t, admin)
  child.kill('SIGTERM')
  t.equal((await exited).code, 0, 'it ends in peace')
  t.notMatch(err(), /Warning/)
})

t.test('several processes answer', async (t) => {
  const folder = writeFile(t, config('http://127.0.0.1:9'))
  const { url, child, exited, out } = await serve(t, folder, ['--config', 'headgate.yaml', '--workers', '2'])
  t.match(out(), /2 workers/)
  const answers = await Promise.all(Array.from({ length: 8 }, async () => (await post(url, '/v1/chat/completions', streamed)).text()))
  t.equal(answers.filter((text) => text.includes('[DONE]')).length, 8)
  child.kill('SIGTERM')
  t.equal((await exited).code, 0)
})

const PLUGIN = `import { API_VERSION, Fault } from 'headgate/plugin-api'
import { word } from './word.mjs'

const loaded = await Promise.resolve(API_VERSION)
export default {
  id: 'greeting',
  apiVersion: loaded,
  parse: () => ({}),
  shape(exchange) {
    if (typeof Fault !== 'function') throw new TypeError('no Fault')
    exchange.edit('greeting', (draft) => {
      draft.items = [...draft.items, { kind: 'message', role: 'user', parts: [{ kind: 'text', text: word }] }]
    })
  },
}
`

t.test('a plugin from disk shares its interface, and is loaded anew where its text has changed', async (t) => {
  const { url: acme } = await provider(t)
  const more = 'plugins: { load: [ ./greeting.mjs ], defaults: { greeting: { enabled: true } } }'
  const folder = writeFile(t, config(acme, more))
  writeFileSync(join(folder, 'greeting.mjs'), PLUGIN)
  writeFileSync(join(folder, 'word.mjs'), `export const word = 'Welcome'\n`)
  const { url, child } = await serve(t, folder, ['--config', 'headgate.yaml'])
  const ask = async (): Promise<string> =>
    (await post(url, '/v1/chat/completions', { ...streamed, model: 'acme/one', stream: false })).text()
  t.match(await ask(), /Welcome/)
  writeFileSync(join(folder, 'word.mjs'), `export const word = 'Good evening'\n`)
  child.kill('SIGHUP')
  await eventually('the new text', async () => (await ask()).includes('Good evening') || undefined)
  const refused = PLUGIN.replace('apiVersion: loaded', `apiVersion: ${API_VERSION + 1}`)
  writeFileSync(join(folder, 'greeting.mjs'), refused)
  t.throws(() => run(folder, 'check', 'headgate.yaml'), /was written for version/)
})

t.test('a document is read in a thread', async (t) => {
  const { url: acme } = await provider(t)
  const folder = writeFile(t, config(acme))
  const { url } = await serve(t, folder, ['--config', 'headgate.yaml'])
  const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${buildPdf(['Paragraph nineteen']).toString('base64')}` }
  const content = [
    { type: 'text', text: 'Read.' },
    { type: 'file', file },
  ]
  const plugins = [{ id: 'file-parser' }]
  const reply = await post(url, '/v1/chat/completions', { model: 'acme/one', plugins, messages: [{ role: 'user', content }] })
  t.match(await reply.text(), /Paragraph nineteen/)
})

t.test('commands run in the sandbox', async (t) => {
  const { url: acme } = await provider(t)
  const containers = join(work, 'containers')
  mkdirSync(containers, { recursive: true })
  execFileSync('chmod', ['755', work])
  const folder = writeFile(t, config(acme, sandboxYaml(containers)))
  const { url } = await serve(t, folder, ['--config', 'headgate.yaml'])
  const reply = await post(url, '/v1/responses', { model: 'acme/one', input: 'Go.', tools: [{ type: 'router:shell' }] })
  const text = await reply.text()
  t.match(text, /"stdout":"42\\n"/)
})
