/** /v1/files and the paths below it: the files of the caller's key. */
import { type FileForm, fileNamed, listFiles, noFile, oneFile, removeFile } from '../api/index.ts'
import { Fault } from '../core/faults.ts'
import type { Admission } from '../pipeline/request/admit.ts'
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

type Act = (call: OperationRequest, files: KeyFiles, form: FileForm) => Promise<Answer>

const FILES = '/v1/files'
const ONE_FILE = /^\/v1\/files\/([^/]+)(\/content)?$/

/** @param callerOf finds the key of a request, and throws where there is none that can be used. */
export function fileOperations(
  { store, maxFile, admission }: FileSource,
  callerOf: (call: OperationRequest) => Promise<ApiKey>,
): Operations {
  const all: Readonly<Record<string, Act>> = {
    GET: ({ query }, files, form) => listFiles(query, files, form),
    POST: async (call, files, form) => ({ status: 200, body: await receiveFile(call, files, { maxFile, form }) }),
  }
  const one = (id: string): Readonly<Record<string, Act>> => ({
    GET: (_call, files, form) => oneFile(id, files, form),
    DELETE: (_call, files, form) => removeFile(id, files, form),
  })
  const content = (id: string): Readonly<Record<string, Act>> => ({ GET: (call, files) => contentOf(id, files, call.method === 'HEAD') })

  return (call) => {
    const [, id, below] = ONE_FILE.exec(call.path) ?? []
    if (call.path !== FILES && id === undefined) return undefined
    const methods = id === undefined ? all : below === undefined ? one(id) : content(id)
    const method = call.method === 'HEAD' ? 'GET' : call.method
    const act = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!act) throw new Fault('method_not_allowed', { headers: { Allow: Object.keys(methods).join(', ') } })
    return callerOf(call).then(async (key) => {
      const { identity, issuer, management } = key
      if (management) throw new Fault('forbidden', { message: 'Management keys have no files' })
      if (methods === all) await admission.request(key)
      return act(call, store.of(identity, issuer?.identity), formOf(call))
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
