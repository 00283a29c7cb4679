/** GoModel, built from its source; see README.md. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { freePort } from '../processes.ts'
import { BENCH_KEY } from '../requests.ts'
import { install, type Peer, peerFolder, startPeer } from './peer.ts'

/** Its rows are written in batches every five seconds. */
const ROWS_MS = 20_000

const settings = (upstream: number, port: number, database: string, usage: boolean): NodeJS.ProcessEnv => ({
  PORT: String(port),
  GOMODEL_MASTER_KEY: BENCH_KEY,
  OPENAI_API_KEY: 'sk-mock',
  OPENAI_BASE_URL: `http://127.0.0.1:${upstream}/v1`,
  OPENAI_MODELS: 'bench/chat,bench/chat-paced',
  CONFIGURED_PROVIDER_MODELS_MODE: 'allowlist',
  STORAGE_TYPE: 'sqlite',
  SQLITE_PATH: database,
  USAGE_ENABLED: String(usage),
  LOGGING_ENABLED: 'false',
  METRICS_ENABLED: 'false',
  ADMIN_ENDPOINTS_ENABLED: 'false',
  MODEL_LIST_URL: '',
  LOG_LEVEL: 'error',
})

/** @throws Error where it keeps no rows of use. */
async function checkRows(database: string): Promise<void> {
  const deadline = performance.now() + ROWS_MS
  let rows: unknown = 0
  while (performance.now() < deadline) {
    if (existsSync(database)) {
      const db = new DatabaseSync(database, { readOnly: true, timeout: BUSY_MS })
      rows = db.prepare('SELECT count(*) AS rows FROM usage').get()?.rows
      db.close()
    }
    if (Number(rows) > 0) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error('gomodel-usage keeps no rows of use')
}

/** @returns the program: a file that was built before, or one built from the source in a folder. */
function program(place: string, folder: string): string {
  if (!statSync(place).isDirectory()) return place
  const built = join(folder, 'gomodel')
  install('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', built, './cmd/gomodel'], place, { CGO_ENABLED: '0' })
  return built
}

/** Milliseconds for which it may still be writing its rows. */
const BUSY_MS = 5_000

export const gomodel: Peer = {
  targets: ['gomodel', 'gomodel-usage'],
  install() {
    const place = process.env.HEADGATE_BENCH_GOMODEL
    if (place === undefined)
      throw new Error(
        'its module cannot be fetched by its address; set HEADGATE_BENCH_GOMODEL to a folder with its source, or to its program',
      )
    const { folder, remove } = peerFolder('gomodel')
    const command = program(place, folder)
    return {
      version: /^gomodel (\S+)/.exec(install(command, ['--version'], folder))?.[1] ?? 'unknown',
      remove,
      async start(name, upstream) {
        const [port, usage] = [await freePort(), name === 'gomodel-usage']
        const database = join(folder, `${name}.db`)
        const env = settings(upstream, port, database, usage)
        return startPeer({
          name,
          command,
          args: [],
          folder,
          port,
          env,
          path: '/health',
          ...(usage ? { check: () => checkRows(database) } : {}),
        })
      },
    }
  },
}
