/** Ollama on the processor, with models that are made here: their files are handed in by its own API. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { folderFor } from './large-servers.ts'
import { writeChatModel } from './model/chat-model.ts'
import { OLLAMA_TEMPLATE } from './model/ollama-template.ts'
import { type ModelServer, startServer } from './model-server.ts'

/** Tokens that the chat models read and write in all, as `num_ctx` of the model states. */
export const OLLAMA_CONTEXT = 8192

/** Of the gateway, by the wire of its provider: Ollama adds the tag. */
export const OLLAMA_MODELS = {
  'openai-chat': 'chat/tiny-chat:latest',
  'openai-responses': 'responses/tiny-chat:latest',
  anthropic: 'messages/tiny-chat:latest',
} as const

export interface OllamaModel {
  readonly name: string
  /** Writes the GGUF file to a path. */
  readonly write: (path: string) => void
  readonly chat?: boolean
}

export const tinyChat = (name = 'tiny-chat', slowness?: number): OllamaModel => ({
  name,
  write: (path) => writeChatModel(path, slowness),
  chat: true,
})

/** @param env of the server, such as `OLLAMA_NUM_PARALLEL`. */
export async function startOllama(
  t: Test,
  path: string,
  models: readonly OllamaModel[],
  env: Record<string, string> = {},
): Promise<ModelServer> {
  const folder = folderFor(t)
  const server = await startServer(t, {
    path,
    args: () => ['serve'],
    env: (port) => ({
      HOME: folder,
      OLLAMA_HOST: `127.0.0.1:${port}`,
      OLLAMA_MODELS: join(folder, 'models'),
      OLLAMA_KEEP_ALIVE: '30m',
      OLLAMA_NOHISTORY: '1',
      OMP_NUM_THREADS: '1',
      ...env,
    }),
    ready: '/api/version',
  })
  for (const { name, write, chat } of models) {
    const file = join(folder, `${name}.gguf`)
    write(file)
    await create(server.url, name, readFileSync(file), chat ? CHAT : {})
  }
  return server
}

const CHAT: JsonObject = {
  template: OLLAMA_TEMPLATE,
  parameters: { stop: ['<|im_end|>'], num_ctx: OLLAMA_CONTEXT, num_thread: 1 },
}

/** As `ollama create` does (docs/api.md of Ollama 0.17.4, "Create a Model"). */
async function create(url: string, name: string, file: Buffer, settings: JsonObject): Promise<void> {
  const digest = `sha256:${createHash('sha256').update(file).digest('hex')}`
  await post(`${url}/api/blobs/${digest}`, file)
  const body = JSON.stringify({ model: name, files: { 'model.gguf': digest }, stream: false, ...settings })
  await post(`${url}/api/create`, body)
}

async function post(url: string, body: Buffer | string): Promise<void> {
  const response = await fetch(url, { method: 'POST', body })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
}
