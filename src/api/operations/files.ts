/** Files that a key uploads. */
import type { IncomingHttpHeaders } from 'node:http'
import { Type } from 'typebox'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { KeyFiles } from '../../services/files/types.ts'
import { FILES_QUERY, type FileForm, fileContent, listFiles, oneFile, removeFile } from '../files.ts'
import { type Operation, operation } from '../operation.ts'
import type { UploadSource } from '../source.ts'

export const file = Type.Object({
  id: Type.String({ description: 'Requests name the file by this id.' }),
  object: Type.Literal('file'),
  bytes: Type.Integer({ minimum: 0 }),
  created_at: Type.Integer({ description: 'Seconds since the epoch.' }),
  filename: Type.String(),
  purpose: Type.String(),
  status: Type.Literal('processed'),
  mime_type: Type.String(),
})

const upload = Type.Object({
  file: Type.String({ format: 'binary', description: 'The file, with its name.' }),
  purpose: Type.Optional(Type.String({ description: 'Purpose in one word; `user_data` by default.', pattern: '^[a-z][a-z0-9_-]{0,63}$' })),
})

const list = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(file),
  has_more: Type.Boolean(),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
})

const deleted = Type.Object({ id: Type.String(), object: Type.Literal('file'), deleted: Type.Literal(true) })

const ID = {
  name: 'file_id',
  in: 'path',
  description: 'Id of the file.',
  schema: { type: 'string' },
  example: 'file-0mwquaes2-f8c9e3e686af602667ec789d86f8a8c8',
} as const

/** Clients of messages name the version of their API. */
const fileForm = (headers: IncomingHttpHeaders): FileForm => (headers['anthropic-version'] === undefined ? 'usual' : 'messages')

function keyFiles({ identity, issuer }: ApiKey, { store }: UploadSource): KeyFiles {
  return store.of(identity, issuer?.identity)
}

/** For requests that look through the folder. */
async function countedFiles({ key }: { readonly key: ApiKey }, uploads: UploadSource): Promise<KeyFiles> {
  const files = keyFiles(key, uploads)
  await uploads.count(key)
  return files
}

const own = { tag: 'Files', roles: ['member'], reach: 'own' } as const

export const fileOperations: readonly Operation[] = [
  operation('POST /files', {
    ...own,
    id: 'createFile',
    audit: { none: 'files belong to the key that uploads them, and set nothing' },
    summary: 'Upload a file',
    description:
      'It belongs to the key alone. Clients of `/messages`, which name the version of their API, get all of this in their own form.',
    body: { form: true, schema: upload, examples: { text: { summary: 'A text', value: { purpose: 'user_data', file: 'Hello.' } } } },
    reply: { description: 'The file.', schema: file },
    faults: ['unavailable'],
    async handle(call, { uploads }) {
      const form = fileForm(call.headers)
      return { status: 200, body: await uploads.receive(call, await countedFiles(call, uploads), form) }
    },
  }),
  operation('GET /files', {
    ...own,
    id: 'listFiles',
    summary: 'List files',
    parameters: FILES_QUERY,
    reply: { description: 'A page of files.', schema: list },
    faults: ['bad_request', 'unavailable'],
    handle: async (call, { uploads }) => listFiles(call.query, await countedFiles(call, uploads), fileForm(call.headers)),
  }),
  operation('GET /files/{file_id}', {
    ...own,
    id: 'getFile',
    summary: 'Get a file',
    parameters: [ID],
    reply: { description: 'The file.', schema: file },
    faults: ['not_found', 'unavailable'],
    handle: ({ path, key, headers }, { uploads }) => oneFile(path.file_id, keyFiles(key, uploads), fileForm(headers)),
  }),
  operation('GET /files/{file_id}/content', {
    ...own,
    id: 'getFileContent',
    summary: 'Download a file',
    parameters: [ID],
    reply: { description: 'Its bytes.', schema: Type.String({ format: 'binary' }), type: 'application/octet-stream' },
    faults: ['not_found', 'unavailable'],
    handle: ({ path, key, method }, { uploads }) => fileContent(path.file_id, keyFiles(key, uploads), method === 'HEAD'),
  }),
  operation('DELETE /files/{file_id}', {
    ...own,
    id: 'deleteFile',
    audit: { none: 'files belong to the key that uploads them, and set nothing' },
    summary: 'Delete a file',
    parameters: [ID],
    reply: { description: 'The file is deleted.', schema: deleted },
    faults: ['not_found', 'unavailable'],
    handle: ({ path, key, headers }, { uploads }) => removeFile(path.file_id, keyFiles(key, uploads), fileForm(headers)),
  }),
]
