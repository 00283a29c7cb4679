/** A decoder holds back: a slow reader has no more of a long body in memory than a few pieces. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { createDecoder } from '../../src/core/content-coding.ts'

const LENGTH = 32 * 1024 * 1024
const READ = 4 * 1024
/** Bytes that a stream of Node buffers, with a piece that is on its way. */
const MAX_HELD = 256 * 1024

t.test('a body that is not read is not decoded further', async (t) => {
  const long = Buffer.alloc(LENGTH)
  for (const [name, coding, bytes] of [
    ['gzip', 'gzip', gzipSync(long)],
    ['zlib', 'deflate', deflateSync(long)],
    ['deflate without its head', 'deflate', deflateRawSync(long)],
    ['br', 'br', brotliCompressSync(long)],
    ['zstd', 'zstd', zstdCompressSync(long)],
  ] as const) {
    const decoder = createDecoder(coding)
    if (!decoder) throw new Error(coding)
    decoder.write(bytes)
    decoder.end()
    let most = 0
    let read = 0
    while (read < 1_000 * READ) {
      read += (decoder.read(READ) as Buffer | null)?.length ?? 0
      most = Math.max(most, decoder.readableLength)
      await nextTurn()
    }
    t.ok(most > 0 && most <= MAX_HELD, `${name}: ${most} bytes`)
    decoder.destroy()
  }
})
