/** Holds the operator's settings of the sandbox that the tools shell and bash run commands in; it does nothing by itself. */
import { badField, type JsonObject, type Plugin, sandboxSettings } from '../../src/plugin-api/index.ts'

export const shell: Plugin<undefined> = {
  id: 'shell',
  reserved: ['sandbox'],
  parse,
}

/** @throws Fault 400 naming the path. */
function parse({ enabled = true, sandbox }: JsonObject, path: string): undefined {
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  sandboxSettings(sandbox, `${path}.sandbox`)
  return undefined
}
