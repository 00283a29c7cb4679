/** Bodies that were right before something was changed in them: what a careless or hostile caller sends. */
import type { Json, JsonObject } from '../../../src/core/json.ts'

/** A small generator of numbers in [0, 1): the same seed gives the same bodies. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Random = () => number

function pickOne<T>(random: Random, all: readonly T[]): T {
  return all[Math.floor(random() * all.length)]
}

/** Values that are wrong almost everywhere, and right where one least expects it. */
const ODD: readonly Json[] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  0.5,
  1e21,
  -1e-9,
  2 ** 53,
  '',
  ' ',
  'text',
  'auto',
  'none',
  'null',
  '\ud800',
  '\u0000',
  '😀',
  'x'.repeat(300),
  'data:image/png;base64,',
  'data:;base64,AAAA',
  'https://a.example/b',
  'file:///etc/passwd',
  '{"a":',
  [],
  [[]],
  [null],
  {},
  { type: 'text', text: 'x' },
  { type: 'unheard_of' },
  { type: null },
  { __proto__x: 1, constructor: { name: 1 } },
]

type Place = { holder: JsonObject | Json[]; key: string | number }

/** Every place of a body that holds a value. */
function listPlaces(value: Json, places: Place[] = []): Place[] {
  if (Array.isArray(value))
    for (const [key, each] of value.entries()) {
      places.push({ holder: value, key })
      listPlaces(each, places)
    }
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) {
      places.push({ holder: value, key })
      if (each !== undefined) listPlaces(each, places)
    }
  return places
}

const at = ({ holder, key }: Place): Json => (Array.isArray(holder) ? holder[key as number] : (holder[key] as Json))

function put({ holder, key }: Place, value: Json): void {
  if (Array.isArray(holder)) holder[key as number] = value
  else holder[key] = value
}

function remove({ holder, key }: Place): void {
  if (Array.isArray(holder)) holder.splice(key as number, 1)
  else delete holder[key]
}

function change(body: JsonObject, others: readonly JsonObject[], random: Random): void {
  const place = pickOne(random, listPlaces(body))
  const kind = Math.floor(random() * 7)
  if (kind === 0) remove(place)
  else if (kind === 1) put(place, structuredClone(pickOne(random, ODD)))
  else if (kind === 2 && Array.isArray(place.holder)) place.holder.push(structuredClone(at(place)))
  else if (kind === 3) put(place, structuredClone(at(pickOne(random, listPlaces(pickOne(random, others))))))
  else if (kind === 4) put(place, structuredClone(at(pickOne(random, listPlaces(body)))))
  else if (kind === 5) {
    const [name, value] = pickOne(random, Object.entries(pickOne(random, others)))
    body[name] = structuredClone(value)
  } else if (!Array.isArray(place.holder)) place.holder[`extra_${Math.floor(random() * 3)}`] = structuredClone(pickOne(random, ODD))
}

/** One of the bodies with one to four changes, some of them parts of the others. */
export function mutated(bodies: readonly JsonObject[], random: Random): JsonObject {
  const body = structuredClone(pickOne(random, bodies))
  const changes = 1 + Math.floor(random() * 4)
  for (let done = 0; done < changes && Object.keys(body).length > 0; done++) change(body, bodies, random)
  return body
}
