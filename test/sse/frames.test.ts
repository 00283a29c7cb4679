/** Frames of an event stream, however the bytes are cut. */
import fc from 'fast-check'
import t from 'tap'
import { FrameSplitter } from '../../src/machines/sse/frames.ts'
import { property } from '../support/seed.ts'

/** Empty frames say nothing, so how many blank lines stand between two is of no account. */
const utterance = (frames: string): string => frames.replace(/\n{3,}/g, '\n\n').replace(/^\n+/, '')

function cutAt(text: string, sizes: readonly number[]): string {
  const splitter = new FrameSplitter()
  let out = ''
  for (let at = 0, i = 0; at < text.length; i++) {
    const size = sizes[i % sizes.length]
    out += splitter.push(Buffer.from(text.slice(at, at + size), 'latin1'))
    at += size
  }
  return out + splitter.close()
}

t.test('any cut gives the same frames', async (t) => {
  const text = fc.array(fc.constantFrom('a', '\n', '\r', ':', 'é', 'data: x\n\n', 'event: y\r\n'), { maxLength: 30 })
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 20 })
  const same = fc.property(
    text,
    sizes,
    (parts, cuts) => utterance(cutAt(parts.join(''), cuts)) === utterance(cutAt(parts.join(''), [1000])),
  )
  fc.assert(same, property(2000, 100_000))
  t.pass('every cut')
})

t.test('line ends behind a blank line are no frame', async (t) => {
  for (const cuts of [[1000], [8], [9], [10], [1]]) {
    const splitter = new FrameSplitter()
    const text = 'data: x\n\n\n'
    let out = ''
    for (let at = 0, i = 0; at < text.length; i++) {
      const size = cuts[i % cuts.length] ?? 1
      const frames = splitter.push(Buffer.from(text.slice(at, at + size)))
      t.notMatch(frames, /\n{3}$/, `cut at ${size}`)
      out += frames
      at += size
    }
    t.match(out, /^data: x\n\n/, `cut at ${cuts}`)
  }
})

t.test('line ends between frames cost no more than their bytes', async (t) => {
  const text = `data: x\n\n${'\n'.repeat(65_000)}data: y\n\n\n`
  const begun = process.cpuUsage()
  const frames = new FrameSplitter().push(Buffer.from(text))
  const { user } = process.cpuUsage(begun)
  t.match(frames, /data: y\n\n$/)
  t.ok(user < 1_000_000, `${user} microseconds`)
})

t.test('a frame as long as an image, and one that is too long', async (t) => {
  const image = `data: ${'x'.repeat(6 * 1024 * 1024)}\n\n`
  t.equal(cutAt(`${image}data: next\n\n`, [65_536]), `${image}data: next\n\n`)
  const splitter = new FrameSplitter()
  const piece = Buffer.alloc(1024 * 1024, 0x78)
  t.throws(() => {
    for (let i = 0; i < 20; i++) splitter.push(piece)
  }, RangeError)
})
