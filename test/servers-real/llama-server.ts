/** llama.cpp's server with a model that is made here. It stands in `python/.venv`, from `python/requirements.txt`, as `.ci/run` installs it. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type ModelServer, startServer } from './model-server.ts'

const FOLDER = fileURLToPath(new URL('./python/', import.meta.url))
const PYTHON = process.env.HEADGATE_TEST_LLAMA_PYTHON ?? `${FOLDER}.venv/bin/python`

/** A reason to skip, where the server cannot be had. */
export const NOT_INSTALLED = existsSync(PYTHON) ? undefined : 'NOT INSTALLED: test/servers-real/python/.venv, see .ci/run'

/** As requirements.txt pins it. */
export const LLAMA_VERSION = 'b11549 (PyPI `xllamacpp` 2026.10.11549)'

/** @param write writes the model to a path. @param settings of the server, `name=value`. It stops when `t` ends. */
export async function startLlama(t: Test, write: (path: string) => void, settings: readonly string[]): Promise<ModelServer> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-llama-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const model = join(folder, 'model.gguf')
  write(model)
  return startServer(t, {
    path: PYTHON,
    args: (port) => [`${FOLDER}llama_server.py`, String(port), model, ...settings],
    ready: '/health',
  })
}
