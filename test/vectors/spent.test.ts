/** Memory of chunks that are done with: given back at once, and never that of anybody else. */
import t from 'tap'
import { SpentChunks } from '../../src/machines/vectors/spent.ts'
import { turn } from '../support/clock.ts'

const chunk = (bytes: number, value = 7): Buffer => Buffer.alloc(bytes, value)

t.test('releases chunks that have been read in full, in the next turn of the event loop', async (t) => {
  const spent = new SpentChunks()
  const chunks = [chunk(100_000), chunk(50_000), chunk(20_000)]
  for (const each of chunks) spent.came(each)
  spent.free(99_999)
  await turn()
  t.same(
    chunks.map(({ length }) => length),
    [100_000, 50_000, 20_000],
    'a chunk that is needed in part stays',
  )
  spent.free(150_000)
  t.equal(chunks[0].length, 100_000, 'whoever is still at it in this turn finds it whole')
  await turn()
  t.same(
    chunks.map(({ length }) => length),
    [0, 0, 20_000],
  )
  t.equal(chunks[2][19_999], 7)
  spent.free(150_000)
  await turn()
  t.equal(chunks[2].length, 20_000, 'the same again changes nothing')
  spent.came(chunk(30))
  spent.free(170_000)
  await turn()
  t.equal(chunks[2].length, 0, 'in order, however many come')
})

t.test('memory that holds more than the chunk stays', async (t) => {
  const spent = new SpentChunks()
  const memory = Buffer.alloc(100_000, 5)
  const views = [memory.subarray(0, 40_000), memory.subarray(40_000)]
  const pooled = Buffer.from('from the pool')
  const shared = Buffer.from(new SharedArrayBuffer(1000))
  for (const each of [...views, pooled, shared]) spent.came(each)
  spent.free(200_000)
  await turn()
  t.equal(memory.length, 100_000)
  t.same([views[0][39_999], views[1][0]], [5, 5])
  t.equal(pooled.toString(), 'from the pool')
  t.equal(shared.length, 1000)
})
