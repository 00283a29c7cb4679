/** Starts headgate, as it is delivered, with everything on: key with a limit, priced models, SQLite store, metrics, a log line per request into a file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILTIN_SLUGS } from '../src/guardrails/settings/recognisers.ts'
import { freePort, keepTrack, stop } from './processes.ts'
import { builtLauncher } from './program.ts'
import { BENCH_KEY, CHAT } from './requests.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const START_MS = 120_000

/** Delay that a log line may have. */
const LOG_MS = 5_000

/** A running gateway. */
export interface Gateway {
  readonly child: ChildProcess
  readonly port: number
  readonly adminPort: number
  /** Milliseconds from the command to the first answered chat request. */
  readonly firstAnswerMs: number
  /** Ends it and removes its files. */
  stop(): Promise<void>
  /** The end of what it wrote, for a failing run. */
  logTail(): string
  /** Checks that the features that cost something are really on. @throws Error when one is not. */
  checkFeatures(requests: number): Promise<void>
}

/** Matches are flagged, so that the provider is sent the same. */
const guardrailText = (): string =>
  `guardrails:\n  - { name: all, content_filter_builtins: [ ${BUILTIN_SLUGS.map((slug) => `{ slug: ${slug}, action: flag }`).join(', ')} ] }\n`

interface Listening {
  readonly port: number
  readonly adminPort: number
  readonly server: string | undefined
}

function configText({ port, adminPort, server }: Listening, upstream: number, storeFile: string): string {
  const endpoint = (provider: string, model: string): string =>
    `    endpoints: [ { provider: ${provider}, model: ${model}, price: { prompt: "0.25", completion: "2.00" } } ]\n`
  const model = (slug: string, provider: string, upstreamModel: string): string =>
    `  ${slug}:\n    context: 200000\n    max_output: 16384\n${endpoint(provider, upstreamModel)}`
  return [
    `server: { host: 127.0.0.1, port: ${port}${server === undefined ? '' : `, ${server}`} }\n`,
    `admin: { host: 127.0.0.1, port: ${adminPort} }\n`,
    `store: { url: "sqlite:${storeFile}" }\n`,
    `auth:\n  keys:\n    - { name: bench, key: "${BENCH_KEY}", limit: "1000000.00" }\n`,
    'providers:\n',
    `  mock: { dialect: openai-chat, base_url: "http://127.0.0.1:${upstream}/v1", key: sk-mock }\n`,
    `  mock-responses: { dialect: openai-responses, base_url: "http://127.0.0.1:${upstream}/v1", key: sk-mock }\n`,
    `  mock-anthropic: { dialect: anthropic, base_url: "http://127.0.0.1:${upstream}", key: sk-mock }\n`,
    `  mock-gemini: { dialect: gemini, base_url: "http://127.0.0.1:${upstream}/v1beta", key: sk-mock }\n`,
    'models:\n',
    model('bench/chat', 'mock', 'chat'),
    model('bench/chat-paced', 'mock', 'chat-paced'),
    model('bench/responses', 'mock-responses', 'responses'),
    model('bench/anthropic', 'mock-anthropic', 'anthropic'),
    model('bench/gemini', 'mock-gemini', 'gemini'),
    '  bench/embed: { kind: embedding, context: 8192, endpoints: [ { provider: mock, model: embed, price: { prompt: "0.02" } } ] }\n',
    // Without a context, so that no body is too long for it.
    `  bench/large:\n    max_output: 16384\n${endpoint('mock', 'chat')}`,
  ].join('')
}

/** One chat request. @returns the status, or 0 when nobody listens yet. */
async function askOnce(port: number): Promise<number> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}${CHAT.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${BENCH_KEY}` },
      body: CHAT.body,
    })
    await reply.text()
    return reply.status
  } catch {
    return 0
  }
}

async function firstAnswer(port: number, child: ChildProcess, startMs: number, tail: () => string): Promise<void> {
  const deadline = performance.now() + startMs
  let status = 0
  while (performance.now() < deadline) {
    status = await askOnce(port)
    if (status === 200) return
    if (child.exitCode !== null) throw new Error(`headgate ended at its start with code ${child.exitCode}:\n${tail()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`headgate gave no answer, last status ${status}:\n${tail()}`)
}

async function text(url: string): Promise<string> {
  const reply = await fetch(url, { headers: { authorization: `Bearer ${BENCH_KEY}` } })
  if (reply.status !== 200) throw new Error(`${url} answered ${reply.status}`)
  return reply.text()
}

/** Counts the log's lines; lines are written late in batches, so it looks again until enough are there or the time is up. */
async function logLines(read: () => string, wanted: number): Promise<number> {
  const deadline = performance.now() + LOG_MS
  for (;;) {
    const lines = read().split('\n').length - 1
    if (lines >= wanted || performance.now() > deadline) return lines
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Words before the launcher: nothing, flags of node, or npm. */
export interface GatewayStart {
  readonly nodeFlags?: readonly string[]
  readonly throughNpm?: boolean
  /** Behind the command's own. */
  readonly args?: readonly string[]
  /** With every built-in recogniser over every request. */
  readonly guardrails?: boolean
  /** Called before the start with the folder, whose `bench.db` is the store. @returns further lines of the configuration. */
  readonly prepare?: (folder: string) => string | Promise<string>
  /** An SQLite file of the caller's as the store. */
  readonly storeFile?: string
  /** The program of another build. */
  readonly launcher?: string
  /** Further settings of `server`, as YAML. */
  readonly server?: string
  /** Milliseconds that it may take, on a machine that does other things meanwhile. */
  readonly startMs?: number
}

/**
 * Starts the gateway on free ports in front of the mock and waits for its first answer.
 * @throws Error with the end of its log when it gives none.
 */
export async function startGateway(upstream: number, how: GatewayStart = {}): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
  const [port, adminPort] = [await freePort(), await freePort()]
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const config = join(folder, 'headgate.yaml')
  const logFile = join(folder, 'headgate.out')
  const more = `${how.guardrails ? guardrailText() : ''}${(await how.prepare?.(folder)) ?? ''}`
  writeFileSync(config, configText({ port, adminPort, server: how.server }, upstream, how.storeFile ?? join(folder, 'bench.db')) + more)
  const launcher = how.launcher ?? (await builtLauncher())
  const log = openSync(logFile, 'a')
  const startedAt = performance.now()
  const [command, args] = how.throughNpm
    ? ['npm', ['start', '--silent', '--', '--config', config]]
    : [process.execPath, [...(how.nodeFlags ?? []), launcher, 'serve', '--config', config, ...(how.args ?? [])]]
  const child = keepTrack(spawn(command, args, { cwd: root, stdio: ['ignore', log, log] }))
  closeSync(log)
  const logText = (): string => readFileSync(logFile, 'utf8')
  const logTail = (): string => logText().slice(-3000)
  try {
    await firstAnswer(port, child, how.startMs ?? START_MS, logTail)
  } catch (error) {
    await stop(child)
    remove()
    throw error
  }
  return {
    child,
    port,
    adminPort,
    firstAnswerMs: performance.now() - startedAt,
    logTail,
    async stop() {
      await stop(child)
      remove()
      process.off('exit', remove)
    },
    async checkFeatures(requests) {
      const key = JSON.parse(await text(`http://127.0.0.1:${port}/v1/key`)) as { data?: { usage?: number } }
      if (!((key.data?.usage ?? 0) > 0)) throw new Error('the key shows no spend: the ledger is not on')
      const metrics = await text(`http://127.0.0.1:${adminPort}/metrics`)
      if (!/_total\{[^}]*\} \d/.test(metrics)) throw new Error('no counter in /metrics: the metrics are not on')
      const lines = await logLines(logText, requests)
      if (lines < requests) throw new Error(`${lines} log lines for ${requests} requests: the log is not on`)
    },
  }
}
