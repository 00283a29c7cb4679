/**
 * Parts of bytes, a form that a client writes and no provider takes: `{ type: binary, binary: { mime_type, data } }` of langchaingo
 * (github.com/tmc/langchaingo v0.1.14, llms/marshaling.go, `BinaryContent`). They become the parts of their kind.
 */
import { isObject, type JsonObject } from '../../core/json.ts'

const BINARY = 'binary'

/** The same part where it is none of bytes. */
export function withoutBinary(part: JsonObject): JsonObject {
  const { binary } = part
  if (part.type !== BINARY || !isObject(binary)) return part
  const { mime_type: mime, data } = binary
  if (typeof mime !== 'string' || typeof data !== 'string' || data === '') return part
  const [kind, format = ''] = mime.toLowerCase().split('/')
  const url = `data:${mime};base64,${data}`
  if (kind === 'image') return { type: 'image_url', image_url: { url } }
  if (kind === 'audio') return { type: 'input_audio', input_audio: { data, format: format.replace(/^x-/, '') } }
  if (kind === 'video') return { type: 'video_url', video_url: { url } }
  return { type: 'file', file: { file_data: url } }
}
