/**
 * The admin listener's routes for the command line of this machine: commands on keys, which change something, and on guardrails.
 * The listener asks for no key, so the caller must be a program on this machine, and none that a web page drives.
 */
import type { IncomingMessage } from 'node:http'
import { type GuardrailReading, type KeySource, runGuardrailCommand, runKeyCommand } from '../api/index.ts'
import { Fault } from '../core/faults.ts'
import { parseBody } from '../pipeline/layers/read.ts'
import type { AdminRoute } from './admin.ts'

/** Bytes and levels: a command is small. */
const MOST_BYTES = 64 * 1024
const DEEPEST = 8

export const KEY_COMMAND_PATH = '/keys/command'
export const GUARDRAIL_COMMAND_PATH = '/guardrails/command'

/** @param source asked anew for each command, since a reload changes it. */
export function keyCommandRoute(source: () => KeySource): [name: string, route: AdminRoute][] {
  const run: AdminRoute = async (request) => {
    refuseStranger(request)
    const body = parseBody(await bodyOf(request), DEEPEST)
    return { status: 200, body: await runKeyCommand(body, source()) }
  }
  return [[`POST ${KEY_COMMAND_PATH}`, run]]
}

/** What guardrails there are and what they found: read, and changed by nobody here. */
export function guardrailCommandRoute(source: () => GuardrailReading): [name: string, route: AdminRoute][] {
  const run: AdminRoute = async (request) => {
    refuseStranger(request)
    const body = parseBody(await bodyOf(request), DEEPEST)
    return { status: 200, body: await runGuardrailCommand(body, source()) }
  }
  return [[`POST ${GUARDRAIL_COMMAND_PATH}`, run]]
}

/** Set by proxies and by browsers, never by the command line. */
const TELLTALE = ['origin', 'referer', 'sec-fetch-site', 'forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/** @throws Fault 403 for whoever is not on this machine, or may act for somebody who is not; 415. */
function refuseStranger({ headers, socket }: IncomingMessage): void {
  const { remoteAddress = '', localAddress } = socket
  const here = remoteAddress === localAddress || /^(::ffff:)?127\.|^::1$/.test(remoteAddress)
  if (!here || TELLTALE.some((name) => headers[name] !== undefined))
    throw new Fault('forbidden', { message: 'Keys are managed here only by the command line of this machine' })
  if (headers['content-type'] !== 'application/json') throw new Fault('media_type', { message: 'content-type: expected application/json' })
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES) throw new Fault('too_large', { message: `Request payload too large: at most ${MOST_BYTES} bytes are accepted` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
