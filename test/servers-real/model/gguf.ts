/** Writes GGUF files, version 3 (ggml, docs/gguf.md): metadata, then tensors of 32-bit floats. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'

const ALIGNMENT = 32

/** Numbers of the value types, as the file has them. */
const TYPE = { uint32: 4, float32: 6, bool: 7, string: 8, array: 9 } as const

export type GgufValue =
  | { uint32: number }
  | { float32: number }
  | { bool: boolean }
  | { string: string }
  | { strings: readonly string[] }
  | { ints: readonly number[] }

export interface GgufTensor {
  name: string
  /** Rows, then the length of one. */
  shape: readonly number[]
  /** Undefined for zeros, which take no room on the disk. */
  data: Float32Array | undefined
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32LE(value)
  return buffer
}

function uint64(value: number): Buffer {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(BigInt(value))
  return buffer
}

function float32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeFloatLE(value)
  return buffer
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint64(bytes.length), bytes])
}

function encodeValue(value: GgufValue): Buffer {
  if ('uint32' in value) return Buffer.concat([uint32(TYPE.uint32), uint32(value.uint32)])
  if ('float32' in value) return Buffer.concat([uint32(TYPE.float32), float32(value.float32)])
  if ('bool' in value) return Buffer.concat([uint32(TYPE.bool), Buffer.from([value.bool ? 1 : 0])])
  if ('string' in value) return Buffer.concat([uint32(TYPE.string), text(value.string)])
  if ('strings' in value)
    return Buffer.concat([uint32(TYPE.array), uint32(TYPE.string), uint64(value.strings.length), ...value.strings.map(text)])
  return Buffer.concat([uint32(TYPE.array), uint32(5), uint64(value.ints.length), ...value.ints.map(uint32)])
}

function aligned(size: number): number {
  return Math.ceil(size / ALIGNMENT) * ALIGNMENT
}

export function writeGguf(path: string, fields: Readonly<Record<string, GgufValue>>, tensors: readonly GgufTensor[]): void {
  const entries = Object.entries(fields)
  const head = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(entries.length)]
  for (const [name, value] of entries) head.push(text(name), encodeValue(value))
  let offset = 0
  const placed = tensors.map((tensor) => {
    const at = offset
    const size = tensor.shape.reduce((product, length) => product * length, 1) * 4
    if (tensor.data && tensor.data.byteLength !== size) throw new Error(`${tensor.name}: ${tensor.data.byteLength} bytes, expected ${size}`)
    offset += aligned(size)
    // The innermost dimension comes first. 0: 32-bit floats.
    head.push(text(tensor.name), uint32(tensor.shape.length), ...tensor.shape.toReversed().map(uint64), uint32(0), uint64(at))
    return { data: tensor.data, at }
  })
  const start = Buffer.concat(head)
  const base = aligned(start.length)
  const file = openSync(path, 'w')
  writeSync(file, start, 0, start.length, 0)
  for (const { data, at } of placed) if (data) writeSync(file, data, 0, data.byteLength, base + at)
  ftruncateSync(file, base + offset)
  closeSync(file)
}
