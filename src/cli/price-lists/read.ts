/** Reads a price list that someone else keeps, in whichever of the known forms it is. */
import { readFileSync, statSync } from 'node:fs'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { LeftOutModel, ListedModel, PriceList, PriceListForm } from './listed-model.ts'
import { isLitellm, readLitellm } from './litellm.ts'
import { isModelsDev, readModelsDev } from './models-dev.ts'

/** Many times what the lists have today. */
const LARGEST = 64 * 1024 * 1024

const FORMS: readonly {
  form: PriceListForm
  title: string
  fits(list: JsonObject): boolean
  read(list: JsonObject, today: string): Iterable<ListedModel | LeftOutModel>
}[] = [
  { form: 'models_dev', title: 'api.json of models.dev', fits: isModelsDev, read: readModelsDev },
  { form: 'litellm', title: 'model_prices_and_context_window.json of LiteLLM', fits: isLitellm, read: readLitellm },
]

/**
 * @param today a day such as `2026-11-25`.
 * @throws Error with a sentence where the file cannot be read or has another form.
 */
export function readPriceList(file: string, today: string): PriceList {
  const list = parsed(file)
  const found = isObject(list) ? FORMS.find(({ fits }) => fits(list)) : undefined
  if (!found || !isObject(list))
    throw new Error(`${file} has none of the known forms, expected the ${FORMS.map(({ title }) => title).join(' or the ')}`)
  const models: ListedModel[] = []
  const leftOut: LeftOutModel[] = []
  for (const entry of found.read(list, today)) {
    if ('leftOut' in entry) leftOut.push(entry)
    else models.push(entry)
  }
  return { form: found.form, title: found.title, models, leftOut }
}

function parsed(file: string): unknown {
  try {
    const { size } = statSync(file)
    if (size > LARGEST) throw new Error(`it has ${size} bytes, expected at most ${LARGEST}`)
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : String(error)
    throw new Error(`${file} cannot be read: ${why}`)
  }
}
