/** Recorded and made streams of each wire, for whatever must hold however their bytes arrive. */
import { readdirSync, readFileSync } from 'node:fs'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Utterance, WIRES, type WireName } from '../wire.ts'
import { marked } from './markers.ts'
import { STREAMED } from './streamed.ts'
import { REPLIES } from './surface-replies.ts'

const FOLDERS: Readonly<Record<WireName, string>> = {
  'openai-chat': 'chat',
  'openai-responses': 'responses',
  anthropic: 'messages',
  gemini: 'gemini',
}

const UTTERANCES: readonly Utterance[] = [
  { text: ['Grüße, ', '😀 ', '\u2028und "mehr"\n'] },
  {
    reasoning: ['Hm, ', 'ja: ß.'],
    signature: 'c2VhbA==',
    text: ['So.'],
    calls: [{ id: 'call_1', name: 'clock', args: ['{"ci', 'ty":"Århus"}'] }],
  },
  { refusal: ['No.'] },
  { text: ['cut'], end: 'length' },
]

/** Streams of one wire as bytes, by name; cut and garbled ones are among them. */
export function wireStreams(wire: WireName): Map<string, Buffer> {
  const folder = new URL(`../../fixtures/${FOLDERS[wire]}/`, import.meta.url)
  const streams = new Map<string, Buffer>()
  for (const file of readdirSync(folder)) if (file.endsWith('.sse')) streams.set(file, readFileSync(new URL(file, folder)))
  for (const [index, utterance] of UTTERANCES.entries()) streams.set(`said ${index}`, Buffer.from(WIRES[wire].frames(utterance).join('')))
  for (const [name, surface] of Object.entries(REPLIES[wire]))
    streams.set(name, Buffer.from(STREAMED[wire](marked(surface).body as JsonObject).join('')))
  return streams
}
