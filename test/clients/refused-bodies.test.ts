/**
 * Refusal that comes before the client's body has been read: the reply with its Retry-After, never a reset of the connection, also
 * where they write all of the body before they read anything, and where they wait for "100 Continue".
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { crowd, FULL, HURRIED, overloaded } from '../support/crowded.ts'
import { every } from '../support/every.ts'
import { KEY } from '../support/gateway.ts'
import { RawClient } from '../support/raw.ts'

const run = promisify(execFile)
const FOLDER = fileURLToPath(new URL('./python/', import.meta.url))
const PYTHON = process.env.HEADGATE_TEST_PYTHON ?? `${FOLDER}.venv/bin/python`
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
/** Bytes: one that is skipped, so that its connection stays, and two after whose refusal the connection ends. */
const LENGTHS = [330_000, 4_000_000, 20_000_000]

interface Seen {
  readonly client: string
  readonly status?: number | undefined
  readonly retryAfter?: string | null | undefined
  readonly error?: string
}

type Client = (url: string, bytes: number) => Promise<readonly Seen[]>

const CLIENTS: Record<string, Client> = {
  async fetch(url, bytes) {
    const reply = await fetch(url, { method: 'POST', headers: HEADERS, body: Buffer.alloc(bytes, ' ') })
    await reply.text()
    return [{ client: 'fetch', status: reply.status, retryAfter: reply.headers.get('retry-after') }]
  },
  'node:http': (url, bytes) =>
    new Promise((resolve, reject) => {
      const call = request(url, { method: 'POST', headers: { ...HEADERS, 'content-length': bytes } }, (reply) => {
        reply.resume().once('end', () => resolve([{ client: 'node:http', status: reply.statusCode, retryAfter: reply.headers['retry-after'] }]))
      })
      call.once('error', reject).end(Buffer.alloc(bytes, ' '))
    }),
  async curl(url, bytes) {
    const headers = Object.entries(HEADERS).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const shown = '%{http_code} %header{retry-after}'
    const call = run('curl', ['-sS', '-m', '60', '-o', '/dev/null', '-w', shown, ...headers, '--data-binary', '@-', url])
    call.child.stdin?.on('error', () => {}).end(Buffer.alloc(bytes, ' '))
    const [status, retryAfter] = (await call).stdout.split(' ')
    return [{ client: 'curl', status: Number(status), retryAfter }]
  },
  async python(url, bytes) {
    const { stdout } = await run(PYTHON, [`${FOLDER}refusals.py`, url, KEY, String(bytes)])
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Seen)
  },
}

t.setTimeout(880_000)
t.test('a refusal of a body that has not been read reaches each client', async (t) => {
  const stage = await overloaded(t, { server: HURRIED })
  const asked = await crowd(stage, FULL + 1)
  const url = `${stage.gateway.url}/v1/chat/completions`
  if (!existsSync(PYTHON)) t.comment('NOT INSTALLED: test/clients/python/.venv, see .ci/run: no clients in Python')
  const clients = Object.entries(CLIENTS).filter(([name]) => name !== 'python' || existsSync(PYTHON))
  await every(t, 'every client and length', async (t) => {
    for (const [name, client] of clients)
      for (const bytes of LENGTHS)
        for (const { client: shown, ...seen } of await client(url, bytes).catch((error) => [{ client: name, error: String(error) }]))
          t.same(seen, { status: 503, retryAfter: '1' }, `${shown}, ${bytes} bytes`)
  })
  const waits = await RawClient.open(stage.gateway.url)
  waits.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\nExpect: 100-continue\r\nContent-Length: 330000\r\n\r\n`,
  )
  await waits.until(/HTTP\/1.1 503[\s\S]*\}$/)
  t.notMatch(waits.text, '100 Continue', 'what is refused is not fetched first')
  waits.close()
  t.equal(stage.upstream.requests.length, 1, 'nothing of it went on')
  for (let i = 0; i < FULL; i++) stage.loop.turn(1, 0)
  t.same(new Set(await Promise.all(asked)), new Set([200]))
})
