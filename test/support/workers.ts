/** A gateway with workers as people start it, and what can be seen of it from outside. */

import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { adminFetch, freshVerdict } from './admin.ts'
import { parseRows, type Row } from './crash/audit.ts'
import { fileText, freePorts } from './crash/configuration.ts'
import { processFamily, runShell } from './crash/processes.ts'
import { eventually } from './eventually.ts'
import { LAUNCHER } from './launcher.ts'
import { type Program, plainNode, serveProgram } from './program.ts'

export const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

export interface WorkerGroup extends Program {
  readonly url: string
  readonly admin: string
  readonly pid: number
  /** Processes of the workers, in order of their start. */
  workers(): number[]
}

/** Starts it and waits until all workers listen; it ends with the test. */
export async function serveWorkers(t: Test, file: string, workers: number | string): Promise<WorkerGroup> {
  const program = await serveProgram(['serve', '--config', file, '--workers', String(workers)])
  t.teardown(() => program.child.kill('SIGKILL'))
  return programProcesses(program)
}

/** The same as the leader of a process group, as a shell starts it. */
export async function serveGroup(t: Test, file: string, workers: number): Promise<WorkerGroup> {
  const [, args] = plainNode([LAUNCHER, 'serve', '--config', file, '--workers', String(workers)])
  const program = runShell(
    `exec ${args
      .slice(2)
      .map((word) => `'${word}'`)
      .join(' ')}`,
    true,
  )
  t.teardown(() => program.child.kill('SIGKILL'))
  const [, url, admin] = await program.until(/listens on (http:\S+) \(admin on (http:[^)\s]+)\)/)
  return programProcesses({ ...program, url, admin })
}

function programProcesses(program: Program & { url: string; admin: string }): WorkerGroup {
  const pid = program.child.pid ?? 0
  return {
    ...program,
    pid,
    workers: () =>
      processFamily(pid)
        .slice(1)
        .map((each) => each.pid),
  }
}

/** Sockets that a process has open. */
export function pidSockets(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')
    } catch {
      return false
    }
  }).length
}

export interface Reply {
  status: number
  id: string
  text: string
}

export interface Asking {
  key: string
  path?: string
  method?: string
  body?: JsonObject | undefined
}

/** One request over a connection of its own, which goes to the next worker in turn. @throws where the connection breaks. */
export function askOnce(url: string, { key, path = '/v1/chat/completions', method, body }: Asking): Promise<Reply> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${key}`,
    connection: 'close',
    ...(text ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } : {}),
  }
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { method: method ?? (text ? 'POST' : 'GET'), agent: false, headers }, async (reply) => {
      try {
        const chunks: Buffer[] = []
        for await (const chunk of reply) chunks.push(chunk as Buffer)
        resolve({ status: reply.statusCode ?? 0, id: String(reply.headers['x-generation-id']), text: Buffer.concat(chunks).toString() })
      } catch (error) {
        reject(error)
      }
    })
    asked.on('error', reject).end(text)
  })
}

export async function fetchMetrics(admin: string): Promise<(series: string) => number> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return (series) => {
    const values = text.split('\n').filter((line) => line.startsWith(series))
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
  }
}

/** Resolves once the gateway says that all of it is ready. */
export async function ready(admin: string): Promise<true> {
  return eventually('readiness', async () => ((await fetch(`${admin}/readyz`)).status === 200 ? true : undefined))
}

/** Sends a command on keys, as the command line does. */
export async function command(admin: string, body: JsonObject): Promise<JsonObject> {
  const reply = await adminFetch(`${admin}/keys/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`)
  return (await reply.json()) as JsonObject
}

export async function configured(t: Test, provider: string, more: Partial<Parameters<typeof fileText>[0]> = {}) {
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  const store = join(directory, 'ledger.db')
  const [port, admin] = await freePorts(2)
  const write = (extra: Partial<Parameters<typeof fileText>[0]> = {}): void =>
    writeFileSync(file, fileText({ port, admin, store, provider, ...more, ...extra }))
  write()
  return { file, store, write }
}

/** So many requests one after the other, each over a connection of its own. */
export const inTurn = <T>(count: number, ask: () => Promise<T>): Promise<T[]> =>
  Array.from({ length: count }).reduce<Promise<T[]>>(async (before, _) => [...(await before), await ask()], Promise.resolve([]))

export async function rows(admin: string): Promise<Row[]> {
  return parseRows(await (await adminFetch(`${admin}/ledger/export`)).text())
}

export async function verified(t: Test, admin: string): Promise<void> {
  t.match(await freshVerdict(admin), { ok: true, open: 0 })
}
