/** Files, described. */
import { Type } from 'typebox'
import type { DescribedOperation, DescribedParameter } from './openapi.ts'

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

const ID: DescribedParameter = {
  name: 'file_id',
  in: 'path',
  description: 'Id of the file.',
  schema: { type: 'string' },
  example: 'file-0mwquaes2-f8c9e3e686af602667ec789d86f8a8c8',
}

const query = (name: string, description: string, schema: DescribedParameter['schema'], example?: string | number): DescribedParameter => ({
  name,
  in: 'query',
  description,
  schema,
  ...(example === undefined ? {} : { example }),
})

const own = { tag: 'Files', key: 'ordinary' } as const

export function fileOperations(): DescribedOperation[] {
  return [
    {
      ...own,
      method: 'post',
      path: '/files',
      id: 'createFile',
      summary: 'Upload a file',
      description:
        'It belongs to the key alone. Clients of `/messages`, which name the version of their API, get all of this in their own form.',
      body: { form: true, schema: upload, examples: { text: { summary: 'A text', value: { purpose: 'user_data', file: 'Hello.' } } } },
      reply: { description: 'The file.', schema: file },
      faults: ['unavailable'],
    },
    {
      ...own,
      method: 'get',
      path: '/files',
      id: 'listFiles',
      summary: 'List files',
      parameters: [
        query('limit', 'Entries per page at most.', { type: 'integer', minimum: 1, maximum: 10_000 }, 100),
        query('after', 'Id of the last entry of the page before.', { type: 'string' }),
        query('order', 'By time; newest first by default.', { type: 'string', enum: ['asc', 'desc'] }, 'desc'),
        query('purpose', 'Only files with this purpose.', { type: 'string' }, 'user_data'),
      ],
      reply: { description: 'A page of files.', schema: list },
      faults: ['bad_request', 'unavailable'],
    },
    {
      ...own,
      method: 'get',
      path: '/files/{file_id}',
      id: 'getFile',
      summary: 'Get a file',
      parameters: [ID],
      reply: { description: 'The file.', schema: file },
      faults: ['not_found', 'unavailable'],
    },
    {
      ...own,
      method: 'get',
      path: '/files/{file_id}/content',
      id: 'getFileContent',
      summary: 'Download a file',
      parameters: [ID],
      reply: { description: 'Its bytes.', schema: Type.String({ format: 'binary' }), type: 'application/octet-stream' },
      faults: ['not_found', 'unavailable'],
    },
    {
      ...own,
      method: 'delete',
      path: '/files/{file_id}',
      id: 'deleteFile',
      summary: 'Delete a file',
      parameters: [ID],
      reply: { description: 'The file is deleted.', schema: deleted },
      faults: ['not_found', 'unavailable'],
    },
  ]
}
