/** The file store on disk: whole or not at all, within the quota of each key, and nothing of another key's. */

import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { secretHash } from '../../src/core/secret.ts'
import { Folder, OneByOne } from '../../src/services/files/folder.ts'
import { DiskFiles, type FileUpload, type KeyFiles, type StoredFile } from '../../src/services/files/index.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const FACTS = { name: 'a.txt', purpose: 'user_data', type: 'text/plain' }
const HOUR = 3_600_000

function storeIn(path: string | undefined, limits: { maxFile?: number; maxBytes?: number } = {}, clock = new FakeClock()): DiskFiles {
  return new DiskFiles({ path, maxFile: 1000, maxBytes: 2000, ...limits }, clock)
}

const page = { limit: 100, newestFirst: false }
const ids = async (files: KeyFiles): Promise<string[]> => (await files.page(page)).files.map(({ id }) => id)

/** Names of what lies in the one folder there is. */
function namesIn(directory: string): string[] {
  const [folder, ...others] = readdirSync(directory)
  if (folder === undefined || others.length > 0) throw new Error(`expected one folder, found ${others.length + 1}`)
  return readdirSync(join(directory, folder))
}

const refused = async (t: Test, work: () => Promise<unknown>, message: RegExp): Promise<void> => {
  await t.rejects((async () => await work())(), { code: 'too_large', message })
}

t.test('what is put in comes out, and is gone once removed', async (t) => {
  const directory = t.testdir()
  const files = storeIn(directory).of('key')
  const file = await files.put(Buffer.from('hello'), FACTS)
  t.match(file, { ...FACTS, bytes: 5, created: Date.UTC(2026, 0, 5, 12) })
  t.equal(file.sha256, '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824')
  t.match(file.id, /^file-[0-9a-z]{9}-[0-9a-f]{32}$/)
  t.same(await files.find(file.id), file)
  t.equal(String(await files.read(file.id)), 'hello')
  const stream = await files.open(file.id)
  t.equal(stream && (await text(stream)), 'hello')
  t.equal(await files.remove(file.id), true)
  t.equal(await files.remove(file.id), false)
  t.equal(await files.find(file.id), undefined)
  t.equal(await files.read(file.id), undefined)
  t.equal(await files.open(file.id), undefined)
  t.same(namesIn(directory), [])
})

t.test('nobody but the key finds them, and the folder does not tell whose it is', async (t) => {
  const directory = t.testdir()
  const store = storeIn(directory)
  const file = await store.of('alice').put(Buffer.from('mine'), FACTS)
  const bob = store.of('bob')
  t.equal(await bob.find(file.id), undefined)
  t.equal(await bob.read(file.id), undefined)
  t.equal(await bob.open(file.id), undefined)
  t.equal(await bob.remove(file.id), false)
  t.same(await ids(bob), [])
  t.notMatch(readdirSync(directory).join(), /alice/)
  t.same(await ids(store.of('alice')), [file.id])
})

t.test('no id leads out of the folder', async (t) => {
  const directory = t.testdir({ 'outside.json': JSON.stringify({ id: 'x' }), outside: 'secret' })
  const files = storeIn(directory).of('key')
  await files.put(Buffer.from('x'), FACTS)
  await every(t, 'every id', async (t) => {
    for (const id of ['../outside', '..%2foutside', '/etc/passwd', '', '.', 'file-abc', `file-000000000-${'0'.repeat(32)}/../../outside`]) {
      t.equal(await files.find(id), undefined, id)
      t.equal(await files.read(id), undefined, id)
      t.equal(await files.open(id), undefined, id)
      t.equal(await files.remove(id), false, id)
    }
  })
})

t.test('only the owner of the process may look into the directory', async (t) => {
  const directory = t.testdir()
  await storeIn(directory).of('key').put(Buffer.from('x'), FACTS)
  const [folder] = readdirSync(directory)
  t.equal(statSync(join(directory, folder)).mode & 0o777, 0o700)
  for (const name of namesIn(directory)) t.equal(statSync(join(directory, folder, name)).mode & 0o777, 0o600, name)
})

t.test('pages in the order of time, forward and back', async (t) => {
  const files = storeIn(t.testdir()).of('key')
  const put: StoredFile[] = []
  for (let i = 0; i < 5; i++) put.push(await files.put(Buffer.from([i]), { ...FACTS, purpose: i === 3 ? 'vision' : 'user_data' }))
  const all = put.map(({ id }) => id)
  t.same([...all].sort(), all, 'ids rise, also within a millisecond')
  for (const newestFirst of [false, true]) {
    const expected = newestFirst ? [...all].reverse() : all
    const found: string[] = []
    for (let after: string | undefined; ; after = found.at(-1)) {
      const { files: some, more } = await files.page({ limit: 2, newestFirst, after })
      found.push(...some.map(({ id }) => id))
      if (!more) break
      t.equal(some.length, 2)
    }
    t.same(found, expected)
  }
  t.same(
    (await files.page({ ...page, purpose: 'vision' })).files.map(({ id }) => id),
    [all[3]],
  )
  await files.remove(all[1])
  t.same(
    (await files.page({ ...page, after: all[1] })).files.map(({ id }) => id),
    all.slice(2),
    'a removed file still marks its place',
  )
})

/** Counts reads of files and looks through folders while the test runs. */
function counted(t: Test): { reads: number; looks: number } {
  const { find, ids } = Folder.prototype
  const count = { reads: 0, looks: 0 }
  Folder.prototype.find = function (id) {
    count.reads++
    return find.call(this, id)
  }
  Folder.prototype.ids = function () {
    count.looks++
    return ids.call(this)
  }
  t.teardown(() => Object.assign(Folder.prototype, { find, ids }))
  return count
}

t.test('lists at once share one look through the folder, and no file is read twice', async (t) => {
  const files = storeIn(t.testdir()).of('key')
  for (let i = 0; i < 20; i++) await files.put(Buffer.from([i]), { ...FACTS, purpose: `p${i % 5}` })
  const count = counted(t)
  const pages = await Promise.all(Array.from({ length: 40 }, (_, at) => files.page({ ...page, purpose: `p${at % 6}` })))
  await every(t, 'every case', async (t) => {
    for (const [at, { files, more }] of pages.entries()) t.same([files.length, more], [at % 6 === 5 ? 0 : 4, false])
  })
  t.equal(count.reads, 20)
  t.ok(count.looks <= 2, `${count.looks} looks`)
  await files.page({ ...page, purpose: 'none' })
  t.equal(count.reads, 20)
})

t.test('a list is right after uploads and removals, also those of another process', async (t) => {
  const directory = t.testdir()
  const [mine, others] = [storeIn(directory).of('key'), storeIn(directory).of('key')]
  const put: string[] = []
  await every(t, 'every by', async (t) => {
    for (const by of [mine, others, mine, others]) {
      put.push((await by.put(Buffer.from('x'), FACTS)).id)
      for (const files of [mine, others]) t.same([...(await ids(files))].sort(), [...put].sort())
    }
  })
  await every(t, 'every by', async (t) => {
    for (const by of [others, mine, others, mine]) {
      await by.remove(put.pop() ?? '')
      for (const files of [mine, others]) t.same([...(await ids(files))].sort(), [...put].sort())
    }
  })
})

t.test('a list that waits for another one sees what was stored before it was asked for', async (t) => {
  const files = storeIn(t.testdir()).of('key')
  for (let i = 0; i < 5; i++) await files.put(Buffer.from('x'), FACTS)
  const first = files.page(page)
  const { id } = await files.put(Buffer.from('y'), FACTS)
  const second = ids(files)
  await first
  t.ok((await second).includes(id))
})

t.test('limits of one file and of all files', async (t) => {
  const directory = t.testdir()
  const files = storeIn(directory).of('key')
  await refused(t, () => files.put(Buffer.alloc(1001), FACTS), /larger than 1000 bytes/)
  await files.put(Buffer.alloc(1000), FACTS)
  await files.put(Buffer.alloc(999), FACTS)
  await refused(t, () => files.put(Buffer.alloc(2), FACTS), /2000 bytes together/)
  await files.put(Buffer.alloc(1), FACTS)
  await refused(t, () => files.put(Buffer.alloc(0), FACTS), /2000 bytes together/)
  t.equal(namesIn(directory).length, 6, 'nothing is left of what was refused')
  const [first] = await ids(files)
  await files.remove(first)
  await files.put(Buffer.alloc(1000), FACTS)
  await storeIn(directory).of('other').put(Buffer.alloc(1000), FACTS)
})

t.test('uploads side by side never pass the quota together, and what one gives up another may have', async (t) => {
  const files = storeIn(t.testdir(), { maxFile: 2000 }).of('key')
  const [one, two] = await Promise.all([files.begin(), files.begin()])
  await one.write(Buffer.alloc(1500))
  await refused(t, () => two.write(Buffer.alloc(501)), /together/)
  await two.abandon()
  await one.write(Buffer.alloc(500))
  t.equal((await one.finish(FACTS)).bytes, 2000)
  t.same((await ids(files)).length, 1)
})

t.test('keys that another one issued share its quota, in any number', async (t) => {
  const directory = t.testdir()
  const store = storeIn(directory)
  await store.of('one', 'issuer').put(Buffer.alloc(800), FACTS)
  await store.of('two', 'issuer').put(Buffer.alloc(800), FACTS)
  for (const files of [store.of('three', 'issuer'), store.of('issuer'), store.of('one', 'issuer'), storeIn(directory).of('issuer')])
    await refused(t, () => files.put(Buffer.alloc(500), FACTS), /2000 bytes together, with those of keys that share its limits/)
  t.same(await ids(store.of('issuer')), [], 'and see nothing of each other')
  await store.of('three', 'other').put(Buffer.alloc(500), FACTS)
  await store.forget('two')
  await store.of('issuer').put(Buffer.alloc(500), FACTS)
})

t.test('uploads side by side of keys with one issuer never pass its quota together', async (t) => {
  const store = storeIn(t.testdir(), { maxFile: 2000 })
  const [one, two] = await Promise.all([store.of('one', 'issuer').begin(), store.of('two', 'issuer').begin()])
  await one.write(Buffer.alloc(1500))
  await refused(t, () => two.write(Buffer.alloc(501)), /together/)
  await Promise.all([one.abandon(), two.abandon()])
})

t.test('the place of a key that is no more goes from the folder of its issuer', async (t) => {
  const directory = t.testdir()
  const clock = new FakeClock(1, Date.now())
  const store = storeIn(directory, {}, clock)
  for (const name of ['one', 'two', 'three']) await store.of(name, 'issuer').put(Buffer.alloc(1), FACTS)
  const places = (): number => readdirSync(join(directory, secretHash('issuer'), 'issued')).length
  t.equal(places(), 3)
  await store.forget('one')
  const [file] = await ids(store.of('two', 'issuer'))
  await store.of('two', 'issuer').remove(file)
  await store.of('issuer').put(Buffer.alloc(1), FACTS)
  t.equal(places(), 2)
  await clock.advance(2 * HOUR)
  await store.of('issuer').put(Buffer.alloc(1), FACTS)
  t.equal(places(), 1, 'an empty folder stays for an hour')
  await storeIn(directory, { maxBytes: 1 }, clock)
    .of('four', 'issuer')
    .put(Buffer.alloc(1), FACTS)
    .catch(() => {})
  t.equal(places(), 1, 'a refused upload leaves no place')
})

t.test('several processes share the directory, and never pass the quota together', async (t) => {
  const directory = t.testdir()
  const [here, there] = [storeIn(directory, { maxFile: 2000 }).of('key'), storeIn(directory, { maxFile: 2000 }).of('key')]
  const mine = await here.begin()
  const theirs = await there.begin()
  await mine.write(Buffer.alloc(1200))
  await theirs.write(Buffer.alloc(1200))
  await refused(t, () => mine.finish(FACTS), /together/)
  t.same(await ids(there), [], 'nothing of either is seen before it is finished')
  await mine.abandon()
  const file = await theirs.finish(FACTS)
  t.same(await ids(here), [file.id])
  t.same(await here.find(file.id), file)
})

t.test('whatever the uploads and their order, files are whole and within the quota', async (t) => {
  const steps = fc.array(fc.record({ who: fc.nat(3), bytes: fc.nat(900), ends: fc.boolean() }), { minLength: 1, maxLength: 25 })
  let run = 0
  const directory = t.testdir()
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const path = join(directory, String(run++))
      // Two processes with two uploads each.
      const stores = [storeIn(path), storeIn(path)]
      const open = new Map<number, { upload: FileUpload; bytes: number }>()
      const done = new Map<string, number>()
      for (const { who, bytes, ends } of all) {
        try {
          const now = open.get(who) ?? { upload: await stores[who % 2].of('key').begin(), bytes: 0 }
          open.set(who, now)
          await now.upload.write(Buffer.alloc(bytes))
          now.bytes += bytes
          if (!ends) continue
          done.set((await now.upload.finish(FACTS)).id, now.bytes)
          open.delete(who)
        } catch (thrown) {
          if ((thrown as { code?: string }).code !== 'too_large') throw thrown
          await open.get(who)?.upload.abandon()
          open.delete(who)
        }
      }
      for (const { upload } of open.values()) await upload.abandon()
      const { files } = await stores[0].of('key').page(page)
      const sum = files.reduce((total, file) => total + file.bytes, 0)
      if (sum > 2000 || files.length !== done.size || files.some(({ id, bytes }) => done.get(id) !== bytes)) return false
      for (const { id, bytes } of files) if ((await stores[1].of('key').read(id))?.length !== bytes) return false
      return open.size === 0 || namesIn(path).length === files.length * 2
    }),
    property(60, 2000),
  )
})

t.test('what a crash leaves is no file, and is swept once it is old', async (t) => {
  const directory = t.testdir()
  const clock = new FakeClock(1, Date.now())
  const files = storeIn(directory, {}, clock).of('key')
  const kept = await files.put(Buffer.from('kept'), FACTS)
  const [folder] = readdirSync(directory)
  const id = `file-zzzzzzzzz-${'0'.repeat(32)}`
  // Bytes that nothing tells of, and a text that was not renamed yet.
  writeFileSync(join(directory, folder, id), 'half')
  writeFileSync(join(directory, folder, `${id}.json.part`), '{"id":')
  writeFileSync(join(directory, folder, `${id}.part`), '{"id":')
  t.same(await ids(files), [kept.id])
  t.equal(await files.find(id), undefined)
  t.equal(await files.open(id), undefined)
  await files.put(Buffer.from('more'), FACTS)
  t.equal(namesIn(directory).length, 7, 'another process may be at work on them')
  const old = new Date(clock.now() - HOUR - 1)
  for (const name of [id, `${id}.part`, `${id}.json.part`, kept.id]) utimesSync(join(directory, folder, name), old, old)
  await files.put(Buffer.from('more'), FACTS)
  t.equal(namesIn(directory).length, 6)
  t.equal(String(await files.read(kept.id)), 'kept')
})

t.test('an upload that is given up leaves nothing', async (t) => {
  const directory = t.testdir()
  const upload = await storeIn(directory).of('key').begin()
  await upload.write(Buffer.from('half'))
  t.equal(namesIn(directory).length, 1)
  await upload.abandon()
  await upload.abandon()
  t.same(namesIn(directory), [])
})

t.test('a disk that fails is the gateway at fault, and says no path', async (t) => {
  const directory = t.testdir({ taken: 'a file where a directory should be' })
  const files = storeIn(join(directory, 'taken')).of('key')
  const fault = { code: 'unavailable', message: 'Service temporarily unavailable: the files of this gateway cannot be reached' }
  await t.rejects(files.put(Buffer.from('x'), FACTS), fault)
  await t.rejects(files.page(page), fault)
})

t.test('a store in memory has a directory of its own, which goes with it', async (t) => {
  const store = storeIn(undefined)
  const files = store.of('key')
  const file = await files.put(Buffer.from('x'), FACTS)
  t.equal(String(await files.read(file.id)), 'x')
  store.close()
  t.equal(await files.read(file.id), undefined)
  store.close()
})

t.test("damaged facts are the operator's trouble, not a caller's file", async (t) => {
  const directory = t.testdir()
  const files = storeIn(directory).of('key')
  const file = await files.put(Buffer.from('x'), FACTS)
  const [folder] = readdirSync(directory)
  const path = join(directory, folder, `${file.id}.json`)
  t.match(readFileSync(path, 'utf8'), '"sha256"')
  writeFileSync(path, 'junk')
  mkdirSync(join(directory, folder, 'stray'))
  t.equal(await files.find(file.id), undefined)
  t.same(await ids(files), [])
  t.equal(await files.remove(file.id), true, 'and can still be removed')
})

t.test('looks through one folder do not run beside each other, and one that fails stops no other', async (t) => {
  const looks = new OneByOne()
  let running = 0
  const look = async (n: number): Promise<number> => {
    t.equal(++running, 1)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    if (n === 1) throw new Error('no such folder')
    return n
  }
  const outcomes = await Promise.allSettled([0, 1, 2].map((n) => looks.run(() => look(n))))
  t.match(outcomes, [{ value: 0 }, { reason: { message: 'no such folder' } }, { value: 2 }])
})
