/**
 * A provider of vectors that answers at once from bytes made beforehand, so that only the gateway works.
 * Its first argument is the length of a vector; the model's name says how it answers: `plain` as it is asked,
 * `floats` and `base64` in that form whatever it is asked, `pretty` as floats with a line for each number; `flaky` fails the
 * first call of a split batch and answers it the second time.
 */

import { createServer, type IncomingMessage } from 'node:http'
import { entryAt } from '../../src/core/entry-at.ts'
import { serveToParent } from '../child.ts'

const dimensions = Number(process.argv[2])
const VECTORS = 16

/** The first number of a vector is replaced by the input's own. */
const numbers = (vector: number): number[] =>
  Array.from({ length: dimensions - 1 }, (_, i) => Math.fround(Math.sin(vector * 31 + i) / 8) || 0.5)

const floats = Array.from({ length: VECTORS }, (_, i) =>
  Buffer.from(
    `,${numbers(i)
      .map((value) => value.toPrecision(9))
      .join(',')}]`,
  ),
)
const lines = (vector: number): string =>
  numbers(vector)
    .map((value) => `,\n        ${value}`)
    .join('')
const pretty = Array.from({ length: VECTORS }, (_, i) => Buffer.from(`${lines(i)}\n      ]`))

function base64(mark: number, vector: number): Buffer {
  const bytes = Buffer.from(new Float32Array([mark, ...numbers(vector)]).buffer)
  return Buffer.from(`"${bytes.toString('base64')}"`)
}
/** One vector per mark, made once. */
const encoded = new Map<number, Buffer>()

function vector(form: string, mark: number): Buffer[] {
  if (form === 'base64') {
    let bytes = encoded.get(mark)
    if (!bytes) {
      bytes = base64(mark, mark % VECTORS)
      encoded.set(mark, bytes)
    }
    return [bytes]
  }
  return [Buffer.from(`[${mark}`), entryAt(form === 'pretty' ? pretty : floats, mark % VECTORS)]
}

async function readBody(request: IncomingMessage): Promise<{ model: string; input: string[]; encoding_format?: string }> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as { model: string; input: string[]; encoding_format?: string }
}

/** The first call of a split batch has failed, and is to come again. */
let failed = false

serveToParent(
  createServer(async (request, response) => {
    const { model, input, encoding_format: asked } = await readBody(request)
    if (model === 'flaky' && input.length > 16 && input[0]?.endsWith(' 0')) {
      failed = !failed
      if (failed) {
        response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"once"}}')
        return
      }
    }
    const form = model === 'plain' || model === 'flaky' ? (asked ?? 'floats') : model
    const pieces: Buffer[] = [Buffer.from('{"object":"list","data":[')]
    for (const [index, text] of input.entries()) {
      const head = `${index === 0 ? '' : '},'}{"object":"embedding","index":${index},"embedding":`
      pieces.push(Buffer.from(head), ...vector(form, Number(text.slice(text.lastIndexOf(' ') + 1))))
    }
    pieces.push(Buffer.from(`}],"model":"m","usage":{"prompt_tokens":${input.length},"total_tokens":${input.length}}}`))
    const body = Buffer.concat(pieces)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  }),
)
