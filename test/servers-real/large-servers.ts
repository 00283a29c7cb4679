/** Start of the servers of `programs.ts`: on one core, without a look at any model hub. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type ChatFolder, writeChatFolder } from './model/chat-folder.ts'
import { type ModelServer, startServer } from './model-server.ts'

const OFFLINE = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', TRANSFORMERS_OFFLINE: '1', HF_HUB_DISABLE_TELEMETRY: '1', DO_NOT_TRACK: '1' }

/** A folder that lives as long as `t`. */
export function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-models-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface ServedModel {
  readonly server: ModelServer
  /** Name of the model at the server. */
  readonly model: string
}

/** vLLM on the CPU; the model is called `tiny-chat`. */
export async function startVllm(t: Test, path: string, more: readonly string[] = []): Promise<ServedModel> {
  const folder = folderFor(t)
  writeChatFolder(folder)
  const env = { ...OFFLINE, VLLM_CPU_KVCACHE_SPACE: '1', VLLM_CPU_OMP_THREADS_BIND: 'nobind', VLLM_NO_USAGE_STATS: '1' }
  const parsers = ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes', '--reasoning-parser', 'qwen3']
  const sizes = ['--dtype', 'float32', '--enforce-eager', '--max-num-seqs', '4', '--max-model-len', '8192']
  const server = await startServer(t, {
    path,
    args: (port) => [
      'serve',
      folder,
      '--served-model-name',
      'tiny-chat',
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      ...sizes,
      ...parsers,
      ...more,
    ],
    env: () => env,
    ready: '/health',
  })
  return { server, model: 'tiny-chat' }
}

/** transformers serve; the model is called by its folder. */
export async function startTransformers(t: Test, path: string, written: ChatFolder = {}): Promise<ServedModel> {
  const folder = folderFor(t)
  writeChatFolder(folder, written)
  const server = await startServer(t, {
    path,
    args: (port) => ['serve', folder, '--device', 'cpu', '--host', '127.0.0.1', '--port', String(port)],
    env: () => ({ ...OFFLINE, HF_HOME: join(folder, 'home') }),
    ready: '/health',
  })
  return { server, model: folder }
}

/** infinity with the two models of `folder`, called by their folders' names. */
export function startInfinity(t: Test, path: string, folders: readonly { folder: string; name: string }[]): Promise<ModelServer> {
  const models = folders.flatMap(({ folder, name }) => ['--model-id', folder, '--served-model-name', name])
  const settings = ['--engine', 'torch', '--device', 'cpu', '--no-bettertransformer', '--no-model-warmup', '--dtype', 'float32']
  return startServer(t, {
    path,
    args: (port) => ['v2', ...models, ...settings, '--url-prefix', '/v1', '--host', '127.0.0.1', '--port', String(port)],
    env: () => ({ ...OFFLINE, INFINITY_ANONYMOUS_USAGE_STATS: '0' }),
    ready: '/health',
  })
}
