/** LiteLLM's proxy from PyPI, in an environment of its own; see README.md. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../processes.ts'
import { BENCH_KEY } from '../requests.ts'
import { install, type Peer, peerFolder, startPeer } from './peer.ts'

/** The newest ones need packages of their proxy that PyPI may not serve. */
const VERSION = '1.80.0'

const configText = (upstream: number): string => {
  const model = (name: string): string =>
    `  - model_name: bench/${name}\n    litellm_params: { model: openai/${name}, api_base: "http://127.0.0.1:${upstream}/v1", api_key: sk-mock }\n`
  return `model_list:\n${model('chat')}${model('chat-paced')}litellm_settings: { set_verbose: false, callbacks: [] }\ngeneral_settings: { master_key: "${BENCH_KEY}" }\n`
}

export const litellm: Peer = {
  targets: ['litellm'],
  never: {
    'litellm with its spend logs':
      'they need PostgreSQL and the engine of Prisma, which is downloaded from a host of its own at the install, not from a package registry',
  },
  install() {
    const { folder, remove } = peerFolder('litellm')
    const own = process.env.HEADGATE_BENCH_LITELLM
    const bin = join(own ?? join(folder, 'venv'), 'bin')
    if (own === undefined) {
      install('python3', ['-m', 'venv', 'venv'], folder)
      install(join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', `litellm[proxy]==${VERSION}`], folder)
    }
    return {
      version: install(join(bin, 'python'), ['-c', 'import importlib.metadata as m; print(m.version("litellm"))'], folder).trim(),
      remove,
      async start(name, upstream) {
        const port = await freePort()
        writeFileSync(join(folder, 'config.yaml'), configText(upstream))
        const args = [
          '--config',
          join(folder, 'config.yaml'),
          '--host',
          '127.0.0.1',
          '--port',
          String(port),
          '--num_workers',
          '1',
          '--telemetry',
          'False',
        ]
        // The list of prices of the package: the default is fetched at each start.
        const env = { LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR', LITELLM_LOCAL_MODEL_COST_MAP: 'True' }
        return startPeer({ name, command: join(bin, 'litellm'), args, folder, port, env, path: '/health/liveliness' })
      },
    }
  },
}
