/**
 * OpenAI's Codex over its WebSocket, headless, against the gateway: `node test/clients/agents/codex-websocket.ts`.
 * As codex.ts, but with `supports_websockets`: on every dialect, and with the gateway's WebSockets switched off.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { startGateway } from '../../support/gateway.ts'
import { type Seen, startUpstream } from '../../support/upstream.ts'
import { answerFor, type Said, type WireName } from '../../support/wire.ts'
import { configOf } from '../support/house.ts'
import { installed, type Run, run } from './agent.ts'
import { report } from './report.ts'

const VERSION = '0.169.0'
const MODEL = 'acme/one'
const place = installed('@openai/codex', VERSION)
const note = join(place.work, 'note.txt')

const shell = (id: string, cmd: string): Said => ({ calls: [{ id, name: 'exec_command', args: [JSON.stringify({ cmd })] }] })
const TURNS: readonly Said[] = [
  shell('call_ls', 'ls -1'),
  shell('call_write', 'echo written through the gateway > note.txt'),
  { text: ['I wrote ', 'note.txt.'] },
]

/** Passes connections on. @returns the request lines that began them, or came first after a refused handshake. */
async function listenFor(url: string): Promise<{ url: string; lines: string[]; close(): void }> {
  const lines: string[] = []
  const { hostname, port } = new URL(url)
  const server = createServer((client) => {
    const gateway = connect({ host: hostname, port: Number(port) })
    client.on('data', (chunk) => lines.push(...(chunk.toString('latin1').match(/(?:GET|POST) \/v1\/responses (?=HTTP)/g) ?? [])))
    client.pipe(gateway).pipe(client)
    for (const socket of [client, gateway]) socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lines, close: () => server.close() }
}

interface Played extends Run {
  readonly seen: readonly Seen[]
  readonly lines: readonly string[]
}

async function play(dialect: WireName, yaml = ''): Promise<Played> {
  writeFileSync(note, '')
  const upstream = await startUpstream((seen, index) => answerFor(seen, TURNS[Math.min(index, TURNS.length - 1)]))
  const gateway = await startGateway(yaml + configOf(upstream.url, { [MODEL]: dialect }))
  const between = await listenFor(gateway.url)
  const provider = `{name="headgate",base_url="${between.url}/v1",wire_api="responses",env_key="HEADGATE_KEY",supports_websockets=true,request_max_retries=0,stream_max_retries=0}`
  const settings = ['-c', 'model_provider="headgate"', '-c', `model_providers.headgate=${provider}`]
  const plain = ['-c', 'web_search="disabled"', '--disable', 'multi_agent']
  const args = ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', '--json', '-m', MODEL, ...settings, ...plain]
  try {
    const played = await run(place, join(place.root, 'node_modules/.bin/codex'), [...args, 'List the files here, then write note.txt.'], {
      CODEX_HOME: place.home,
      HEADGATE_KEY: gateway.key,
    })
    return { ...played, seen: upstream.requests, lines: between.lines }
  } finally {
    between.close()
    await gateway.close()
    await upstream.close()
  }
}

function checkDone({ code, out, err, seen }: Played): void {
  assert.equal(code, 0, err + out)
  assert.match(out, /I wrote note\.txt\./)
  assert.equal(readFileSync(note, 'utf8'), 'written through the gateway\n')
  assert.equal(seen.length, 3, 'the warm-up calls no provider')
  assert.match(seen[1]?.body ?? '', /welcome\.txt/)
  assert.match(seen[2]?.body ?? '', /welcome\.txt[\s\S]*call_write/, 'the provider gets the whole conversation')
}

writeFileSync(join(place.work, 'welcome.txt'), 'hello\n')
try {
  for (const dialect of ['openai-responses', 'openai-chat', 'anthropic', 'gemini'] as const) {
    const played = await play(dialect)
    checkDone(played)
    assert.deepEqual([...new Set(played.lines)], ['GET /v1/responses '], 'nothing goes over HTTP')
    report(`codex over a WebSocket, ${dialect}`, played.seen)
  }
  const off = await play('openai-responses', 'server: { host: 127.0.0.1, port: 0, responses_websocket: { enabled: false } }\n')
  checkDone(off)
  assert.equal(off.lines.filter((line) => line.startsWith('GET')).length, 1, 'one handshake, then HTTP')
  report('codex, after a 426', off.seen)
} finally {
  place.remove()
}
