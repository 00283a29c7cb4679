/** A picture to ask a model about: a red square, large enough for providers that refuse the smallest. */
import { crc32, deflateSync } from 'node:zlib'

const SIDE = 64
const RED = [255, 0, 0]

/** PNG (W3C, third edition): signature, then IHDR, IDAT and IEND, each with its length, type and CRC-32. */
function png(): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(SIDE, 0)
  header.writeUInt32BE(SIDE, 4)
  // 8 bits of colour type 2: red, green and blue.
  header.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.from([0, ...Array.from({ length: SIDE }, () => RED).flat()])
  const data = deflateSync(Buffer.concat(Array.from({ length: SIDE }, () => row)))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

export const PICTURE = `data:image/png;base64,${png().toString('base64')}`
