/** /v1/files and what stands below it: the files of the key that asks. */
import { type FileForm, fileNamed, listFiles, noFile, oneFile, removeFile } from '../api/index.ts'
import { Fault } from '../core/faults.ts'
import type { Admission } from '../pipeline/request/admission.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { FileStore, KeyFiles } from '../services/files/types.ts'
import { receiveFile } from './file-upload.ts'
import type { Answer, OperationRequest, Operations } from './gateway.ts'

export interface FileSource {
  readonly store: FileStore
  /** Bytes of one file. */
  readonly maxFile: number
  /** Uploads and lists, which look through the folder, count in the requests of the key. */
  readonly admission: Pick<Admission, 'request'>
}

type Act = (asked: OperationRequest, files: KeyFiles, form: FileForm) => Promise<Answer>

const FILES = '/v1/files'
const ONE_FILE = /^\/v1\/files\/([^/]+)(\/content)?$/

/** @param callerOf finds the key of a request, and throws where there is none that can be used. */
export function fileOperations(
  { store, maxFile, admission }: FileSource,
  callerOf: (asked: OperationRequest) => Promise<ApiKey>,
): Operations {
  const all: Readonly<Record<string, Act>> = {
    GET: ({ query }, files, form) => listFiles(query, files, form),
    POST: async (asked, files, form) => ({ status: 200, body: await receiveFile(asked, files, { maxFile, form }) }),
  }
  const one = (id: string): Readonly<Record<string, Act>> => ({
    GET: (_asked, files, form) => oneFile(id, files, form),
    DELETE: (_asked, files, form) => removeFile(id, files, form),
  })
  const content = (id: string): Readonly<Record<string, Act>> => ({ GET: (asked, files) => contentOf(id, files, asked.method === 'HEAD') })

  return (asked) => {
    const [, id, below] = ONE_FILE.exec(asked.path) ?? []
    if (asked.path !== FILES && id === undefined) return undefined
    const methods = id === undefined ? all : below === undefined ? one(id) : content(id)
    const method = asked.method === 'HEAD' ? 'GET' : asked.method
    if (!Object.hasOwn(methods, method)) throw new Fault('method_not_allowed', { headers: { Allow: Object.keys(methods).join(', ') } })
    return callerOf(asked).then(async (key) => {
      const { identity, issuer, management } = key
      if (management) throw new Fault('forbidden', { message: 'Management keys have no files' })
      if (methods === all) await admission.request(key)
      return methods[method](asked, store.of(identity, issuer?.identity), formOf(asked))
    })
  }
}

/** Clients of messages name the version of their API. */
function formOf({ request }: OperationRequest): FileForm {
  return request.headers['anthropic-version'] === undefined ? 'usual' : 'messages'
}

async function contentOf(id: string, files: KeyFiles, headOnly: boolean): Promise<Answer> {
  const file = await fileNamed(id, files)
  const bytes = headOnly ? undefined : await files.open(id)
  if (!headOnly && !bytes) throw noFile()
  return {
    status: 200,
    headers: {
      'Content-Type': 'application/octet-stream',
      'Content-Length': file.bytes,
      'Content-Disposition': `attachment; filename*=UTF-8''${encoded(file.name)}`,
      'X-Content-Type-Options': 'nosniff',
    },
    bytes,
  }
}

/** RFC 8187: what `encodeURIComponent` leaves and that form does not take. A lone half of a character has no form at all. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}
