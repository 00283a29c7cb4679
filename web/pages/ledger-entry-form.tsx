/** Adds an entry to the ledger: written first, then shown once more before it is recorded, since no entry can be changed or removed. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { LedgerEntryReply } from '../api-types.ts'
import { Dialog } from '../components/dialog.tsx'
import { Choice, Field, FormError } from '../components/field.tsx'
import { toast } from '../components/toast.tsx'

/** Subject of the entry: a request, a key, or an entry that it settles. */
export interface About {
  readonly generation?: string
  readonly hash?: string
  readonly settles?: string
  /** USD that the settled entry has. */
  readonly amount?: number
  /** Undefined for a key that is gone. */
  readonly keyName?: string | undefined
}

const MAKING = [
  ['refund', 'Refund: give back to the key'],
  ['correction', 'Correction: charge the key, or give back with an amount below zero'],
] as const

const SETTLING = [
  ['write_off', 'Write off: no key is charged'],
  ['correction', 'Correction: charge the key'],
] as const

const FIELDS = ['kind', 'amount', 'reason']

export function AddEntry({ about, onClose, onAdded }: { about: About | undefined; onClose: () => void; onAdded: () => void }) {
  return (
    <Dialog title={about?.settles ? 'Settle an entry' : 'Correct or refund'} isOpen={about !== undefined} onClose={onClose}>
      {about && <EntryForm about={about} onClose={onClose} onAdded={onAdded} />}
    </Dialog>
  )
}

function EntryForm({ about, onClose, onAdded }: { about: About; onClose: () => void; onAdded: () => void }) {
  const kinds = about.settles ? SETTLING : MAKING
  const [values, setValues] = useState({
    kind: kinds[0][0] as string,
    amount: about.amount === undefined ? '' : String(about.amount),
    reason: '',
  })
  // The same for both times that the button may be pressed: one entry is added.
  const [once] = useState(() => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`)
  const [isSure, setSure] = useState(false)
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const set = (name: keyof typeof values) => (value: string) => setValues((last) => ({ ...last, [name]: value }))
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isSure) {
      setError(undefined)
      setSure(true)
      return
    }
    setBusy(true)
    const { generation, hash, settles } = about
    const body = { ...values, amount: Number(values.amount), generation_id: generation, api_key_hash: hash, settles, idempotency_key: once }
    try {
      await call<LedgerEntryReply>('/v1/ledger/entries', { method: 'POST', body })
      toast('The entry is recorded')
      onAdded()
    } catch (thrown) {
      setError(thrown as Error)
      setSure(false)
    }
    setBusy(false)
  }
  return (
    <form class="form" onSubmit={send}>
      {isSure ? (
        <p class="note-line">
          <strong>{entryEffect(values.kind, values.amount, about)}</strong> Reason: {values.reason}. An entry is never changed or removed.
        </p>
      ) : (
        <>
          <Choice name="kind" label="Kind" error={error} value={values.kind} options={kinds} onChange={set('kind')} />
          <Field
            name="amount"
            label="Amount in USD"
            type="number"
            step="any"
            required
            error={error}
            value={values.amount}
            onInput={set('amount')}
          />
          <Field
            name="reason"
            label="Reason"
            required
            error={error}
            value={values.reason}
            onInput={set('reason')}
            hint="It stays with the entry, beside your name."
          />
        </>
      )}
      <FormError error={error} fields={FIELDS} />
      <p class="actions">
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Recording…' : isSure ? 'Record it' : 'Go on'}
        </button>
        <button type="button" class="button" onClick={isSure ? () => setSure(false) : onClose}>
          {isSure ? 'Back' : 'Cancel'}
        </button>
      </p>
    </form>
  )
}

/** Effect of recording it, in the digits that were typed. */
function entryEffect(kind: string, amount: string, { keyName, generation, settles }: About): string {
  const key = keyName === undefined ? 'The key' : `The key ${keyName}`
  const what = settles ? ` for the entry ${settles}` : generation ? ` for the request ${generation}` : ''
  const dollars = amount.replace(/^-/, '')
  if (kind === 'write_off') return `$${dollars} is written off${what}, and no key is charged.`
  return kind === 'refund' || amount.startsWith('-') ? `${key} gets $${dollars} back${what}.` : `${key} is charged $${dollars}${what}.`
}
