/** Images and audio in answers: the canon's form for every dialect, with what came on this wire beside it. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { COMMON } from '../canon/events.ts'
import type { Opaque } from '../canon/request.ts'
import { WIRE } from './wire.ts'

const text = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

const besides = (data: JsonObject): JsonObject => ({ dialect: WIRE, data })

/** An entry of `images`, or an image among the parts of the content. */
export function imageAnswer(image: JsonObject): Opaque {
  const link = isObject(image.image_url) ? image.image_url.url : (image.image_url ?? image.url)
  return { dialect: COMMON, type: 'image', data: { url: text(link) ?? '', native: besides(image) } }
}

/** `audio` of a message, once all its pieces are joined. */
export function audioAnswer(audio: JsonObject): Opaque {
  const data: JsonObject = { data: text(audio.data) ?? '' }
  if (typeof audio.format === 'string') data.format = audio.format
  if (typeof audio.transcript === 'string') data.transcript = audio.transcript
  return { dialect: COMMON, type: 'audio', data: { ...data, native: besides(audio) } }
}

/** Audio comes in pieces of base64 and of transcript; its other fields are whole. */
export function joinAudio(before: JsonObject | undefined, piece: JsonObject): JsonObject {
  const joined: JsonObject = { ...before, ...piece }
  for (const key of ['data', 'transcript']) {
    const old = before?.[key]
    const more = piece[key]
    if (typeof old === 'string') joined[key] = typeof more === 'string' ? old + more : old
  }
  return joined
}

/** Part that came on this wire, unchanged. */
function nativeData(of: Opaque): JsonObject | undefined {
  const { native } = of.data
  return isObject(native) && native.dialect === WIRE && isObject(native.data) ? native.data : undefined
}

/** An image answer as an entry of `images`; undefined where it is none. */
export function encodeImage(of: Opaque): JsonObject | undefined {
  if (of.type === 'audio') return undefined
  const url = text(isObject(of.data.image_url) ? of.data.image_url.url : of.data.url)
  return nativeData(of) ?? (url === undefined ? undefined : { type: 'image_url', image_url: { url } })
}

/** Seconds for which a caller may take an audio answer to be known by its id, where no provider stated a time. */
const AUDIO_LIFE = 3600

/** An audio answer as `audio`, with the members that clients rely on; undefined where it is none. */
export function encodeAudio(of: Opaque, reply: { id: string; created: number }): JsonObject | undefined {
  if (of.type !== 'audio') return undefined
  const own = nativeData(of)
  if (own) return own
  const { data, format, transcript } = of.data
  const audio: JsonObject = {
    id: `audio_${reply.id.replace(/^gen-/, '')}`,
    data: text(data) ?? '',
    transcript: text(transcript) ?? '',
    expires_at: reply.created + AUDIO_LIFE,
  }
  if (typeof format === 'string') audio.format = format
  return audio
}
