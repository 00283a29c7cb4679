/** Lets the model list, read, write and edit the files of the key that sent the request. */
import { badField, type JsonObject, type SessionTool, type ToolSession } from '../../plugin-api/index.ts'
import { OPERATIONS, runOperation } from './operations.ts'

export const files: SessionTool = {
  name: 'files',
  description:
    'Works with stored files. list: shows them, the newest first. read: gives the text of one. write: stores a text as a new file. edit: stores a changed copy under a new id, and leaves the old file as it is.',
  parameters: {
    type: 'object',
    properties: {
      operation: { type: 'string', enum: [...OPERATIONS] },
      file_id: { type: 'string', description: 'For read and edit: id of the file.' },
      filename: { type: 'string', description: 'For write: name of the new file. For edit: another name, if it is to have one.' },
      content: { type: 'string', description: 'For write: the whole text. For edit: the whole new text, unless old_text is given.' },
      old_text: { type: 'string', description: 'For edit: what is to be replaced; it must stand in the file exactly once.' },
      new_text: { type: 'string', description: 'For edit: what takes its place.' },
    },
    required: ['operation'],
    additionalProperties: false,
  },
  plugin: 'files',

  begin(parameters: JsonObject, at: string): ToolSession {
    const [stray] = Object.keys(parameters)
    if (stray !== undefined) throw badField(`${at}.parameters.${stray}`, 'the tool takes no parameters')
    return { bound: 0, run: runOperation }
  },
}
