/** A process without free file descriptors: its own fault, not the provider's. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { eventually } from '../../support/eventually.ts'
import { rawJson, startRawUpstream } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const isThere = spawnSync('prlimit', ['--version']).status === 0
const REPLY = rawJson(chatReply({ text: ['fine'] }))

t.test('callers get 503, the log an error line, and no provider is blamed', { skip: !isThere && 'no prlimit here' }, async (t) => {
  const upstream = await startRawUpstream((_request, socket) => {
    setTimeout(() => socket.write(REPLY), 1_500)
    return undefined
  })
  t.teardown(() => upstream.close())
  const script = join(import.meta.dirname, '../../support/few-files.ts')
  // Each request takes two: its caller's connection and the one to the provider. The callers alone fit.
  const child = spawn('prlimit', ['--nofile=160', process.execPath, script, upstream.url], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await eventually('it listens', () => text.includes('\n'))
  const { url, admin, key } = JSON.parse(text) as { url: string; admin: string; key: string }
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const send = async (path: string, body?: string): Promise<{ status: number | undefined; text: string }> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = request(`${url}${path}`, { agent, method: body === undefined ? 'GET' : 'POST', headers })
    sent.end(body)
    const [reply] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: reply.statusCode, text: (await reply.toArray()).join('') }
  }
  const ask = async (): Promise<string> => {
    const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
    const { status, text: answer } = await send('/v1/chat/completions', body)
    const { error } = JSON.parse(answer) as { error?: { message: string } }
    return error ? `${status} ${error.message}` : `${status}`
  }
  // The callers' connections stand before any request takes a file for its provider.
  await Promise.all(Array.from({ length: 90 }, () => send('/v1/models')))
  const statuses = await Promise.all(Array.from({ length: 90 }, ask))
  t.same([...new Set(statuses)].sort(), ['200', '503 The gateway cannot open more connections'])
  t.equal(await ask(), '200', 'and all is well afterwards')
  // The idle ones to the provider give their files back.
  for (const socket of upstream.sockets) socket.destroy()
  await eventually('they are closed', () => upstream.sockets.size === 0)
  const metrics = await (await fetch(`${admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text()
  const outcomes = metrics.split('\n').filter((line) => line.startsWith('headgate_attempts_total'))
  t.equal(outcomes.length, 1, 'no attempt counts against the provider')
  t.match(outcomes[0], /outcome="ok"/)
  child.stdin.end()
  await once(child, 'close')
  const lines = text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line) as JsonObject)
  t.same(
    lines.filter(({ level }) => level === 50).map(({ msg, cause }) => [msg, cause]),
    [['the gateway cannot open more connections: raise its limit of open files', 'EMFILE']],
  )
})
