/** Members of tools that a provider refuses: the quirk `body.drop` names them as `tools.TYPE.MEMBER`. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** In `body.drop`, and in the report of what was left out. */
const TOOL_MEMBER = 'tools.'

/** A type stands for those that begin with it, such as `web_search_preview`. */
const isOfType = (tool: JsonObject, type: string): boolean => typeof tool.type === 'string' && tool.type.startsWith(type)

/** Leaves the members out, in place; the caller's own tools are never touched. @param dropped receives their names. */
export function fitTools(body: JsonObject, drop: readonly string[], dropped: string[]): void {
  for (const name of drop) {
    if (!name.startsWith(TOOL_MEMBER) || !Array.isArray(body.tools)) continue
    const [, type = '', member = ''] = name.split('.')
    const hasMember = (tool: Json): tool is JsonObject => isObject(tool) && isOfType(tool, type) && tool[member] !== undefined
    if (!body.tools.some(hasMember)) continue
    if (body.tools.some((tool) => hasMember(tool) && tool[member] !== null)) dropped.push(name)
    body.tools = body.tools.map((tool) => {
      if (!hasMember(tool)) return tool
      const { [member]: _, ...rest } = tool
      return rest
    })
  }
}
