/** llama.cpp's server with a model that is made here. It stands in `python/.venv`, from `python/requirements.txt`, as `.ci/run` installs it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { freePorts } from '../support/crash/configuration.ts'
import type { ModelServer } from './model-server.ts'

const FOLDER = fileURLToPath(new URL('./python/', import.meta.url))
const PYTHON = process.env.HEADGATE_TEST_LLAMA_PYTHON ?? `${FOLDER}.venv/bin/python`

/** A reason to skip, where the server cannot be had. */
export const NOT_INSTALLED = existsSync(PYTHON) ? undefined : 'NOT INSTALLED: test/servers-real/python/.venv, see .ci/run'

/** As requirements.txt pins it. */
export const LLAMA_VERSION = 'b11549 (PyPI `xllamacpp` 2026.10.11549)'

type Running = ChildProcessByStdio<Writable, Readable, Readable>

/** @param write writes the model to a path. @param settings of the server, `name=value`. It stops when `t` ends. */
export async function startLlama(t: Test, write: (path: string) => void, settings: readonly string[]): Promise<ModelServer> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-llama-'))
  const model = join(folder, 'model.gguf')
  write(model)
  const [port = 0] = await freePorts(1)
  const args = [`${FOLDER}llama_server.py`, String(port), model, ...settings]
  let running: Running | undefined
  const start = async (): Promise<void> => {
    running ??= await begin(args)
  }
  const kill = async (): Promise<void> => {
    const child = running
    running = undefined
    if (!child) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  t.teardown(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  return { url: `http://127.0.0.1:${port}`, kill, start }
}

async function begin(args: readonly string[]): Promise<Running> {
  const child = spawn(PYTHON, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => {})
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4000)
    })
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('listening')) resolve()
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${said}`)))
  })
  return child
}
