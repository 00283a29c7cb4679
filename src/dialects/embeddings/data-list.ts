/** Replies of the form `{ data: [{ index, embedding }] }`. */
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'

/** Numbers of the vectors in the order of the inputs: by `index` where the provider gives it, else as they stand. */
export function listedVectors({ data }: JsonObject): number[] {
  if (!Array.isArray(data)) throw new Fault('upstream_garbled')
  const vectors = new Array<number>(data.length).fill(-1)
  for (const [place, entry] of data.entries()) {
    if (!isObject(entry) || typeof entry.embedding !== 'number') throw new Fault('upstream_garbled')
    const index = typeof entry.index === 'number' ? entry.index : place
    if (vectors[index] !== -1) throw new Fault('upstream_garbled')
    vectors[index] = entry.embedding
  }
  return vectors
}
