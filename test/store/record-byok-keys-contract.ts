/** Contract of every store of record for keys of providers that teams have brought. */
import type { Test } from 'tap'
import type { StoredByokKey } from '../../src/store/byok-keys.ts'
import { FakeClock } from '../support/clock.ts'
import type { OpenRecord } from './record-contract.ts'

const terms = {
  name: 'ours',
  label: 'sk-t...1234',
  isFallback: false,
  disabled: false,
  allowedModels: null,
  allowedUsers: null,
  allowedKeys: null,
}

export function recordByokKeysContract(t: Test, name: string, open: OpenRecord): void {
  t.test(`${name}: keys of providers are written once, replaced by version, rewrapped and removed`, async (t) => {
    const opened = await open(new FakeClock())
    t.teardown(() => opened.close())
    const store = opened.record.byokKeys
    const key = (id: string, more: Partial<StoredByokKey> = {}): StoredByokKey => ({
      ...{ id, version: 1, provider: 'openai', encrypted: `text of ${id}`, terms, createdAt: 5, updatedAt: null },
      ...more,
    })
    const puts = await Promise.all(Array.from({ length: 4 }, async () => store.put(key('b'), 0)))
    t.equal(puts.filter(Boolean).length, 1, 'one of four makes it')
    t.equal(await store.put(key('a', { createdAt: 9 }), 0), true)
    t.same(await store.all(), [key('b'), key('a', { createdAt: 9 })], 'the oldest first')
    const changed = key('b', { version: 2, terms: { ...terms, disabled: true, allowedModels: ['acme/*'] }, updatedAt: 7 })
    t.equal(await store.put(changed, 2), false, 'another change came first')
    t.equal(await store.put(changed, 1), true)
    t.equal(await store.rewrap('b', 'another', 'anew'), false)
    t.equal(await store.rewrap('b', 'text of b', 'anew'), true)
    t.equal(await store.rewrap('none', 'text of b', 'anew'), false)
    const record = (await opened.reopen?.()) ?? opened.record
    const again = record.byokKeys
    t.same(await again.all(), [{ ...changed, encrypted: 'anew' }, key('a', { createdAt: 9 })])
    t.equal(await again.remove('b'), true)
    t.equal(await again.remove('b'), false)
    const entries = await record.auditLog.page({ after: 0, limit: 50 })
    const actions = entries.filter(({ action }) => action.startsWith('byok_key.')).map(({ action, subject }) => `${action} ${subject}`)
    t.same(actions, ['byok_key.created b', 'byok_key.created a', 'byok_key.changed b', 'byok_key.rewrapped b', 'byok_key.deleted b'])
    t.notMatch(JSON.stringify(entries), /text of|anew/, 'the encrypted form is in no entry')
  })
}
