/** Pieces of any size come out as one, in their order, and small ones do not take a Buffer each. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { Pieces } from '../../src/core/pieces.ts'
import { property } from '../support/seed.ts'

t.test('all bytes come out in their order, however they were cut, and whenever they are read', async (t) => {
  const sizes = fc.array(fc.oneof(fc.nat(4), fc.nat(2_000), fc.nat(40_000)), { maxLength: 60 })
  fc.assert(
    fc.property(sizes, fc.nat(60), (lengths, read) => {
      const pieces = new Pieces()
      const buffers = lengths.map((length, place) => Buffer.alloc(length, place % 251))
      for (const [place, each] of buffers.entries()) {
        pieces.push(each)
        if (place === read) pieces.whole()
      }
      const all = Buffer.concat(buffers)
      return pieces.size === all.length && pieces.whole().equals(all) && pieces.take().equals(all) && pieces.size === 0
    }),
    property(300, 10_000),
  )
  t.pass('every draw')
})

t.test('a piece that is changed later changes nothing that was joined, and one that is alone is not copied', (t) => {
  const pieces = new Pieces()
  const alone = Buffer.from('alone')
  pieces.push(alone)
  t.equal(pieces.whole(), alone)
  const joined = Buffer.from('b')
  pieces.push(joined)
  joined[0] = 0x63
  t.equal(pieces.take().toString(), 'aloneb')
  t.end()
})

t.test('a million pieces of one byte take less than 4 MB', (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const one = Buffer.alloc(1_000_000, 'x')
  const used = (): number => {
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const pieces = new Pieces()
  const before = used()
  for (let at = 0; at < one.length; at++) pieces.push(Buffer.from(one.subarray(at, at + 1)))
  const grown = used() - before
  t.ok(grown < 4 * 1024 * 1024, `${grown} bytes`)
  t.equal(pieces.take().length, one.length)
  t.end()
})
