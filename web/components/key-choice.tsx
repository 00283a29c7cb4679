/** A field that finds one of many keys by a part of its name, or the beginning of its hash. */
import { useState } from 'preact/hooks'
import { ApiError, call } from '../api.ts'
import type { Key, KeysReply, OneKeyReply } from '../api-types.ts'
import { useResource } from '../resource.ts'
import { Field } from './field.tsx'

export interface KeyChoiceProps {
  readonly name: string
  readonly label: string
  /** Hash of the key; '' for none. */
  readonly value: string
  readonly placeholder: string
  readonly error?: Error | undefined
  readonly onChange: (hash: string) => void
}

/** Keys that are suggested. */
const SUGGESTED = 20

const findKeys = (search: string, signal?: AbortSignal): Promise<KeysReply> =>
  call('/v1/keys', { query: { search, include_disabled: true, sort: 'name', limit: SUGGESTED }, signal })

export function KeyChoice({ name, label, value, placeholder, error, onChange }: KeyChoiceProps) {
  /** Undefined: the field shows the key that is chosen. */
  const [typed, setTyped] = useState<string>()
  const [unknown, setUnknown] = useState<Error>()
  const found = useResource<KeysReply>((signal) => findKeys(typed ?? '', signal), [typed])
  const chosen = useResource<OneKeyReply>((signal) => call(`/v1/keys/${value}`, { signal }), [value], { enabled: value !== '' })
  const chosenName = chosen.data?.data.hash === value ? chosen.data.data.name : value
  const choose = (hash: string): void => {
    setTyped(undefined)
    setUnknown(undefined)
    if (hash !== value) onChange(hash)
  }
  const pick = async (text: string): Promise<void> => {
    if (text === '' || text === chosenName) return choose(text === '' ? '' : value)
    const key = await findKeys(text).then(
      ({ data }) => keyNamed(text, data),
      (): undefined => undefined,
    )
    if (key) choose(key.hash)
    else setUnknown(new ApiError(0, 'No key, or several, are called so', name))
  }
  return (
    <Field
      name={name}
      label={label}
      type="search"
      value={typed ?? chosenName}
      placeholder={placeholder}
      error={unknown ?? error}
      list={[...new Set(found.data?.data.map((key) => key.name))]}
      onInput={(text) => setTyped(text)}
      onChange={(text) => void pick(text.trim())}
    />
  )
}

/** The only one of that name, or the only one that was found. */
function keyNamed(text: string, keys: readonly Key[]): Key | undefined {
  const named = keys.filter((key) => key.name === text)
  const [key, ...others] = named.length > 0 ? named : keys
  return others.length === 0 ? key : undefined
}
