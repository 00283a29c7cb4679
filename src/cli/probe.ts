/** `headgate probe`: a short matrix of requests against a real provider, through the gateway's own encoders. */
import { existsSync, writeFileSync } from 'node:fs'
import { start } from '../app/start.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../core/json.ts'
import { usdText } from '../core/money-text.ts'
import { holdFor, tariffAt } from '../ledger/pricing.ts'
import { buildCatalog } from '../routing/catalog/catalog.ts'
import { CONSOLE, plural, type Streams } from './console.ts'
import { visible } from './plan-table.ts'
import { CASES, type Case, type ProbedModel, type Reply, type Send } from './probe/cases.ts'
import { type Call, Forwarder } from './probe/forwarder.ts'
import { Redactor } from './probe/redact.ts'
import { findSubject, probeConfig, SLUG, type Subject } from './probe/subject.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

export interface ProbeFlags {
  config?: string
  model?: string
  record?: string
  yes?: boolean
  json?: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

export interface Outcome {
  readonly case: string
  /** `differs`: accepted, and not what was requested. */
  readonly result: 'ok' | 'refused' | 'differs' | 'skipped'
  readonly detail?: string
  readonly calls: readonly Call[]
}

/** An error instead of a reply. */
class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Tokens of the input of any of the requests, at most. */
const INPUT_TOKENS = 1500

/**
 * @param words behind `probe`: the provider.
 * @returns the exit code: 1 where something was refused or differs, or where nothing can be probed; 2 where the words make no command.
 */
export async function probe(
  words: readonly string[],
  flags: ProbeFlags,
  streams: Streams = CONSOLE,
  env: Environment = process.env,
): Promise<number> {
  const [name, ...rest] = words
  if (name === undefined || rest.length > 0) {
    streams.error('headgate: probe: expected PROVIDER')
    return 2
  }
  try {
    const subject = await findSubject(name, flags.config ?? SHIPPED_CONFIG, { model: flags.model, env })
    const chosen = casesFor(subject)
    const head = announcement(subject, chosen)
    if (flags.yes !== true) {
      streams.out(`${head}\nNothing has been sent. Add --yes to send them.`)
      return 0
    }
    // Before anything is sent: a recording that cannot be written would have cost for nothing.
    if (flags.record !== undefined && existsSync(flags.record)) throw new Error(`${flags.record} is there already: name a new file`)
    if (flags.json !== true) streams.out(head)
    const { outcomes, cost } = await run(subject, chosen, env)
    const redactor = new Redactor(subject.secrets)
    if (flags.record !== undefined) record(flags.record, { subject, outcomes, redactor })
    report(streams, { subject, outcomes, cost, redactor, flags })
    return outcomes.every(({ result }) => result === 'ok' || result === 'skipped') ? 0 : 1
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

interface Chosen {
  readonly run: readonly Case[]
  readonly skipped: readonly Case[]
}

function casesFor({ model: { input, endpoints } }: Subject): Chosen {
  const model: ProbedModel = { input, parameters: endpoints[0]?.supported_parameters }
  const applies = ({ applies: test }: Case): boolean => test?.(model) ?? true
  return { run: CASES.filter(applies), skipped: CASES.filter((each) => !applies(each)) }
}

/** Requests that are going to be sent, and their possible cost: every output cap used up. */
function announcement(subject: Subject, { run: cases }: Chosen): string {
  const { config } = probeConfig(subject, 'http://127.0.0.1:9')
  const endpoint = buildCatalog(config).find(SLUG)?.model.endpoints[0]
  const requests = cases.flatMap(({ caps }) => caps)
  const tariff = endpoint ? tariffAt(endpoint, Date.now()) : 'unpriced'
  const most = requests.reduce((sum, cap) => sum + holdFor(tariff, INPUT_TOKENS, cap).hold, 0)
  const cost = tariff === 'unpriced' ? 'no price of this model is known' : `at most $${usdText(most)}, usually a small part of it`
  return `${subject.name} at ${subject.provider.name} (${subject.provider.slug}): ${plural(requests.length, 'request')} in ${plural(cases.length, 'case')}. Cost: ${cost}.`
}

async function run(subject: Subject, { run: cases, skipped }: Chosen, env: Environment): Promise<{ outcomes: Outcome[]; cost: number }> {
  const forwarder = new Forwarder(subject.provider, env)
  const { config, key } = probeConfig(subject, await forwarder.open())
  const outcomes: Outcome[] = skipped.map(({ name, otherwise = '' }) => ({ case: name, result: 'skipped', detail: otherwise, calls: [] }))
  let cost = 0
  try {
    const gateway = await start({ configFile: 'probe.yaml', load: () => config, env: {}, log: () => {} })
    try {
      for (const each of cases) {
        const first = forwarder.calls.length
        const send: Send = async (body) => {
          const reply = await sent(gateway.url, key, body)
          cost += replyCost(reply)
          return reply
        }
        const outcome = await runCase(each, send)
        outcomes.push({ ...outcome, calls: forwarder.calls.slice(first) })
        // Whatever follows would be refused as well.
        if (outcomes.at(-1)?.calls.some(({ status, failure }) => status === 401 || failure !== undefined)) break
      }
    } finally {
      await gateway.close()
    }
  } finally {
    await forwarder.close()
  }
  return { outcomes, cost }
}

async function runCase({ name, run: steps }: Case, send: Send): Promise<Omit<Outcome, 'calls'>> {
  try {
    const differs = await steps(send)
    return differs === undefined ? { case: name, result: 'ok' } : { case: name, result: 'differs', detail: differs }
  } catch (error) {
    if (error instanceof Refused) return { case: name, result: 'refused', detail: `${error.status}: ${error.message}` }
    return { case: name, result: 'differs', detail: error instanceof Error ? error.message : String(error) }
  }
}

async function sent(url: string, key: string, body: JsonObject): Promise<Reply> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: SLUG, ...body }),
  })
  const text = await answer.text()
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true
  const reply: JsonObject = isStream ? { data: streamChunks(text) } : (JSON.parse(text) as JsonObject)
  const fault = [reply, ...asObjects(reply.data)].map(({ error }) => error).find(isObject)
  if (fault) throw new Refused(answer.status, String(fault.message))
  return { status: answer.status, body: reply }
}

function streamChunks(stream: string): Json[] {
  const data = stream.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice('data: '.length)] : []))
  return data.map((line) => JSON.parse(line) as Json)
}

/** USD. */
function replyCost({ body }: Reply): number {
  const usages = [body, ...asObjects(body.data)].map(({ usage }) => (isObject(usage) ? usage.cost : 0))
  return usages.reduce<number>((sum, cost) => sum + (typeof cost === 'number' ? cost : 0), 0)
}

interface Report {
  readonly subject: Subject
  readonly outcomes: readonly Outcome[]
  readonly cost: number
  readonly redactor: Redactor
  readonly flags: ProbeFlags
}

function report(streams: Streams, { subject, outcomes, cost, redactor, flags }: Report): void {
  const lines = outcomes.map((outcome) => ({ ...outcome, detail: outcomeLine(outcome, redactor) }))
  if (flags.json) {
    const cases = lines.map(({ calls, ...line }) => ({ ...line, statuses: calls.map(({ status }) => status) }))
    streams.out(JSON.stringify({ provider: subject.provider.slug, model: subject.name, cases, cost_usd: cost }, undefined, 2))
    return
  }
  const width = Math.max(...lines.map(({ case: name }) => name.length))
  for (const { case: name, result, detail } of lines)
    streams.out(visible(`  ${result.padEnd(7)}  ${name.padEnd(width)}  ${detail}`.trimEnd()))
  streams.out(
    `It has cost $${usdText(Math.round(cost * 1e9))} by the configured prices.${flags.record === undefined ? '' : ` Recorded: ${flags.record}`}`,
  )
}

const MAX_SENTENCE_LENGTH = 500

/** The provider's own sentence where it refused; the gateway's own where it did not come that far. */
function outcomeLine({ result, detail = '', calls }: Outcome, redactor: Redactor): string {
  const last = calls.at(-1)
  if (last?.failure !== undefined) return redactor.text(last.failure)
  if (result !== 'refused' || !last || last.status < 400) return redactor.text(detail)
  return `${last.status}: ${redactor.text(messageIn(last.response)).slice(0, MAX_SENTENCE_LENGTH)}`
}

/** The text of an error, in the forms that providers have for it. */
function messageIn(response: string): string {
  try {
    const body = JSON.parse(response) as Json
    const [first = body] = Array.isArray(body) ? body : [body]
    const fault = isObject(first) ? (first.error ?? first.errors ?? first.detail ?? first.message ?? first) : first
    const message = isObject(fault) ? (fault.message ?? fault.detail ?? fault) : fault
    return typeof message === 'string' ? message : JSON.stringify(message)
  } catch {
    return response.trim() === '' ? 'no text' : response.trim()
  }
}

/** For a bug report; only its owner reads the file until they send it. */
function record(file: string, { subject, outcomes, redactor }: Pick<Report, 'subject' | 'outcomes' | 'redactor'>): void {
  const { provider, name } = subject
  const cases = outcomes
    .filter(({ calls }) => calls.length > 0)
    .map(({ case: title, result, calls }) => ({
      case: title,
      result,
      exchanges: calls.map(({ method, path, request, status, contentType, response }) => ({
        request: { method, path: redactor.text(path), body: redactor.body(request) },
        response: { status, content_type: contentType, body: redactor.body(response) },
      })),
    }))
  const recording = {
    provider: provider.preset ?? provider.dialect,
    dialect: provider.dialect,
    model: redactor.text(name),
    at: new Date().toISOString(),
    cases,
  }
  writeFileSync(file, `${JSON.stringify(recording, undefined, 2)}\n`, { flag: 'wx', mode: 0o600 })
}
