/** Writes safetensors files (huggingface/safetensors, README, "Format"): a header in JSON, then tensors of 32-bit floats. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import type { GgufTensor } from './gguf.ts'

export function writeSafetensors(path: string, tensors: readonly GgufTensor[]): void {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
  let end = 0
  const placed = tensors.map(({ name, shape, data }) => {
    const at = end
    end += shape.reduce((product, length) => product * length, 4)
    if (data && data.byteLength !== end - at) throw new Error(`${name}: ${data.byteLength} bytes, expected ${end - at}`)
    header[name] = { dtype: 'F32', shape, data_offsets: [at, end] }
    return { data, at }
  })
  const text = JSON.stringify(header)
  const json = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8, ' '))
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(json.length))
  const file = openSync(path, 'w')
  writeSync(file, Buffer.concat([size, json]))
  const base = size.length + json.length
  for (const { data, at } of placed) if (data) writeSync(file, data, 0, data.byteLength, base + at)
  ftruncateSync(file, base + end)
  closeSync(file)
}
