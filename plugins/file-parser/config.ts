/** Settings of the plugin: the operator's, and the fields of a request's entry (docs/contract.md#plugins). */
import {
  addressPolicy,
  badField,
  isObject,
  type Json,
  type JsonObject,
  nanoFromUsd,
  type OutboundPolicy,
} from '../../src/plugin-api/index.ts'
import { FileNotes } from './file-notes.ts'
import type { OcrAccount } from './ocr.ts'

/** Place of the operator's settings, for messages that say what is to be configured. */
const PLACE = 'plugins.defaults.file-parser'

/** The way in which a file reaches the model: as it is (`native`), read by the service for scans, or as the text that it holds. */
export type Engine = 'native' | 'scan' | 'text'

/** Engines by the names that callers send. */
const ENGINES: Readonly<Record<string, Engine>> = {
  native: 'native',
  'mistral-ocr': 'scan',
  'pdf-text': 'text',
  'cloudflare-ai': 'text',
}

const USUAL_URL = 'https://api.mistral.ai'
const USUAL_MODEL = 'mistral-ocr-latest'
/** USD per thousand pages. */
const USUAL_PRICE = '2.00'
const USUAL_PAGES = 200
/** Most pages that the service reads of one file. */
const MAX_PAGES = 1000

export interface FileParserConfig {
  enabled: boolean
  /** Undefined: native where the model takes files, else the service if there is one, else the text that a file holds. */
  engine: Engine | undefined
  ocr: OcrAccount | undefined
  policy: OutboundPolicy
  /** True where the request names the plugin: the caller knows of its annotations, whatever the format. */
  named: boolean
  /** Texts of files that earlier answers of this conversation brought back. */
  notes: FileNotes
}

/** @throws Fault 400 naming the path; it says what is to be configured where the service is requested and not there. */
export function parseConfig(settings: JsonObject, path: string): FileParserConfig {
  const { enabled = true, pdf = {} } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  if (!isObject(pdf)) throw badField(`${path}.pdf`, 'expected an object')
  const engine = parseEngine(pdf.engine ?? undefined, `${path}.pdf.engine`)
  const ocr = parseOcr(settings.ocr, `${PLACE}.ocr`)
  if (engine === 'scan' && !ocr)
    throw badField(`${path}.pdf.engine`, `${String(pdf.engine)} is not configured: the operator has to name the service under ${PLACE}.ocr`)
  const policy = addressPolicy(settings.allow_private, `${PLACE}.allow_private`)
  return { enabled, engine, ocr, policy, named: path !== PLACE, notes: new FileNotes() }
}

function parseEngine(name: Json | undefined, path: string): Engine | undefined {
  if (name === undefined) return undefined
  if (typeof name !== 'string' || !Object.hasOwn(ENGINES, name)) throw badField(path, `expected one of: ${Object.keys(ENGINES).join(', ')}`)
  return ENGINES[name]
}

function parseOcr(given: Json | undefined, path: string): OcrAccount | undefined {
  if (given === undefined) return undefined
  if (!isObject(given)) throw badField(path, 'expected an object')
  const { url = USUAL_URL, key = '', model = USUAL_MODEL, price = USUAL_PRICE, max_pages: pages = USUAL_PAGES } = given
  if (typeof url !== 'string' || !/^https?:\/\//.test(url)) throw badField(`${path}.url`, 'expected an http or https address')
  if (typeof key !== 'string') throw badField(`${path}.key`, 'expected the key of your account')
  if (typeof model !== 'string' || model === '') throw badField(`${path}.model`, 'expected the name of a model')
  const nano = typeof price === 'string' ? nanoFromUsd(price) : undefined
  if (nano === undefined) throw badField(`${path}.price`, 'expected USD per 1000 pages as a decimal in quotes, such as "2.00"')
  if (typeof pages !== 'number' || !Number.isInteger(pages) || pages < 1 || pages > MAX_PAGES)
    throw badField(`${path}.max_pages`, `expected an integer from 1 to ${MAX_PAGES}`)
  return { url: url.replace(/\/+$/, ''), key, model, thousand: nano, maxPages: pages }
}
