/** The operator's own plugins as modules: found, loaded, and loaded anew where their text has changed. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { extname, resolve } from 'node:path'
import { isSea } from 'node:sea'
import { pathToFileURL } from 'node:url'
import type { PluginSource } from '../config/plugins.ts'
import * as api from '../plugin-api/index.ts'

/** Under this name a plugin finds the gateway's interface, wherever it stands itself. */
const API = 'headgate/plugin-api'
const API_URL = new URL(`../plugin-api/index${extname(import.meta.url)}`, import.meta.url).href
const OUR_SOURCE = new URL('../../', import.meta.url).href
/** Scheme of the imports that load a plugin; after it: name, place to look from, number of the reading. */
const ENTRY = 'headgate-plugin:'
/** Marks every file of one reading, so that a later reading is another module. */
const MARK = 'headgate-reading'
const READING = new RegExp(`\\?${MARK}=\\d+`, 'g')
/** Milliseconds. */
const TIMEOUT_MS = 10_000

interface Reading {
  module: Record<string, unknown>
  /** Files that were read for it, by absolute path, as far as it stands beside it. */
  files: ReadonlySet<URL>
  digest: string
}

/** Text behind the scheme. */
interface EntryName {
  readonly name: string
  readonly from: string
  readonly number?: string
}

const readings = new Map<string, Reading>()
/** Files of the readings, by number. */
const traces = new Map<string, Set<URL>>()
let hooked = false

/**
 * Loads one; a file that has not changed since, nor what it imports from beside it, is not loaded again.
 * A package is loaded once.
 * @param file of the configuration: packages are looked for from there.
 * @throws Error saying what is wrong, in one line.
 */
export async function loadModule(source: PluginSource, file: string): Promise<Record<string, unknown>> {
  const { name, path } = source
  if (path !== undefined && !existsSync(path)) throw new Error('no such file')
  hook()
  const known = `${path ?? name}\0${path === undefined ? file : ''}`
  const before = readings.get(known)
  if (before && filesDigest(before.files) === before.digest) return before.module
  const number = String(traces.size + 1)
  const files = new Set(path === undefined ? [] : [pathToFileURL(path)])
  traces.set(number, files)
  const entry = {
    name: path === undefined ? name : pathToFileURL(path).href,
    from: pathToFileURL(resolve(file)).href,
    number: path && number,
  }
  try {
    const module = await inTime(import(`${ENTRY}${encodeURIComponent(JSON.stringify(entry))}`) as Promise<Record<string, unknown>>)
    readings.set(known, { module, files, digest: filesDigest(files) })
    return module
  } catch (error) {
    throw new Error(loadFailure(error, name), { cause: error })
  }
}

function hook(): void {
  if (hooked) return
  hooked = true
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === API) return { url: API_URL, shortCircuit: true }
      if (specifier.startsWith(ENTRY)) {
        const { name, from, number } = JSON.parse(decodeURIComponent(specifier.slice(ENTRY.length))) as EntryName
        const found = next(name, { ...context, parentURL: from })
        return number === undefined ? found : { ...found, url: `${found.url}?${MARK}=${number}` }
      }
      const found = next(specifier, context)
      const number = context.parentURL?.split(`?${MARK}=`)[1]
      if (number === undefined || !/^\.{1,2}\//.test(specifier) || isShared(found.url)) return found
      traces.get(number)?.add(new URL(found.url))
      return { ...found, url: `${found.url}?${MARK}=${number}` }
    },
    load(url, context, next) {
      return url === API_URL && isSea() ? { format: 'module', source: apiInside(), shortCircuit: true } : next(url, context)
    },
  })
}

/** The interface as a module of the single file, where no file holds it: each name is the program's own. */
function apiInside(): string {
  Object.assign(globalThis, { [API]: api })
  const names = Object.keys(api)
  return `export const { ${names.join(', ')} } = globalThis[${JSON.stringify(API)}]\n`
}

/** Imports of a plugin from the gateway or a package are the same for all readings. */
function isShared(url: string): boolean {
  return !url.startsWith('file:') || url.startsWith(`${OUR_SOURCE}src/`) || url.includes('/node_modules/')
}

function filesDigest(files: ReadonlySet<URL>): string {
  const hash = createHash('sha256')
  for (const file of files) {
    try {
      hash.update(readFileSync(file)).update('\0')
    } catch {
      hash.update('\0missing\0')
    }
  }
  return hash.digest('hex')
}

function inTime<T>(loading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it has not finished loading within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS)
  })
  return Promise.race([loading, late]).finally(() => clearTimeout(timer))
}

function loadFailure(error: unknown, name: string): string {
  if (!(error instanceof Error)) return `loading it throws ${typeof error}`
  const code = 'code' in error ? error.code : undefined
  const [line = ''] = error.message.split('\n')
  if (code === 'ERR_MODULE_NOT_FOUND' && line.includes(`'${name}'`)) return 'no such package'
  // Where a parser stumbled stands at the head of the stack.
  const [head = ''] = (error.stack ?? '').split('\n')
  const where = /^\S+:\d+$/.test(head) ? ` (${head})` : ''
  return `${line.slice(0, 300)}${where}`.replace(READING, '')
}
