/** `headgate serve`: starts, says where and how to try it, and ends in order. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../config/problems.ts'
import { systemClock } from '../core/clock.ts'
import { type Running, start } from '../main.ts'
import { drainOnSignals } from '../server/signals.ts'
import { compact } from './compact.ts'
import { signalSource } from './signal-source.ts'

export const SHIPPED_CONFIG = fileURLToPath(new URL('../../config/headgate.yaml', import.meta.url))

export interface ServeFlags {
  config?: string
  host?: string
  port?: string
}

export async function serve(flags: ServeFlags): Promise<void> {
  const port = flags.port === undefined ? undefined : Number(flags.port)
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65_536)) {
    process.stderr.write(`headgate: --port: expected a number from 0 to 65535, found ${flags.port}\n`)
    process.exitCode = 2
    return
  }
  const configFile = flags.config ?? SHIPPED_CONFIG
  if (!existsSync(configFile)) {
    process.stderr.write(`headgate: --config: no such file: ${configFile}\n`)
    process.exitCode = 2
    return
  }
  // A reader of our output that goes away must not take the gateway with it.
  process.stdout.on('error', () => {})
  compact()
  let running: Running
  try {
    running = await start({ configFile, host: flags.host, port, watch: true })
  } catch (error) {
    process.stderr.write(`headgate: ${error instanceof ConfigError || error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
    return
  }
  drainOnSignals({
    clock: systemClock,
    process: signalSource(systemClock, process),
    drain: running.drain,
    close: () => running.close(),
    notice: (text) => process.stderr.write(`headgate: ${text}\n`),
  })
  process.stdout.write(banner(running))
}

function banner({ url, adminUrl, runtime }: Running): string {
  const { config, catalog, generated } = runtime
  const secret = generated ?? (config.developmentKey ? 'sk-router-v1-dev' : undefined)
  const model = config.defaultModel ?? (catalog.find('sim/echo') ? 'sim/echo' : (catalog.models[0]?.slug ?? 'author/name'))
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  const lines = [
    `headgate listens on ${url} (admin on ${adminUrl})`,
    `${catalog.models.length} models at ${catalog.providers.size} providers`,
    secret === undefined ? 'Use one of the keys of your configuration.' : `Key: ${secret}`,
    'Try it:',
    `  curl -N ${url}/v1/chat/completions -H "Authorization: Bearer ${secret ?? '$HEADGATE_KEY'}" -H "Content-Type: application/json" -d '${body}'`,
  ]
  return `${lines.join('\n')}\n`
}
