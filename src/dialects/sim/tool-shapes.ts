/** Which of an agent's tools does what, by its name and the shape of its schema, and arguments that the schema accepts. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { schemaInstance } from './instance.ts'
import type { FunctionTool } from './request.ts'

export interface ToolCall {
  readonly name: string
  readonly args: JsonObject
}

/** Names of arguments, as coding agents have them (their requests are in `test/agents`). */
const COMMAND = /^(?:cmd|commands?|command_?line|shell_?command|script)$/i
const PATH = /^(?:abs(?:olute)?_?|target_?)?(?:file_?)?path$|^(?:target_?)?file(?:_?name)?$/i
const CONTENT = /^(?:contents?|text|(?:file|new)_?(?:text|contents?)|body)$/i
const PATTERN = /^(?:glob_?)?pattern$/i
const FOLDER = /^(?:abs(?:olute)?_?|target_?)?(?:dir|directory|folder|path)(?:_?(?:path|name))?$|^(?:cwd|work_?dir|workdir)$/i
const FILES = /^(?:files|paths|file_?paths)$/i
const REMARK = /description|explanation|reason|summary|purpose|title|label/i

const RUNS = /bash|shell|exec|command|terminal|^run/i
const WRITES = /write|create|save|new_?file/i
const READS = /read|view|cat|open/i
const LISTS = /list|^ls$|glob|dir/i
/** Tools that have such a name, and such arguments, for something else than files of text. */
const OTHERS = /image|picture|notebook|web|url|resource|browser|mcp/i

interface Shape {
  readonly tool: FunctionTool
  readonly schema: JsonObject
  readonly properties: Readonly<Record<string, JsonObject>>
  readonly required: readonly string[]
}

export class ToolShapes {
  private readonly shapes: readonly Shape[]
  /** Folder in which the agent works, with which its tools may demand paths; undefined where it does not say. */
  private readonly folder: string | undefined

  constructor(tools: readonly FunctionTool[], folder: string | undefined) {
    this.shapes = tools.flatMap((tool) => toolShape(tool) ?? [])
    this.folder = folder
  }

  /** The call that runs a command; undefined where no tool does so. */
  run(command: string): ToolCall | undefined {
    return this.first(RUNS, (shape) => {
      const name = named(shape, COMMAND)
      const value = name === undefined ? undefined : commandValue(command, shape.properties[name])
      return name === undefined || value === undefined ? undefined : { [name]: value }
    })
  }

  write(file: string, content: string): ToolCall | undefined {
    return this.first(WRITES, (shape) => {
      const [path, text] = [named(shape, PATH), named(shape, CONTENT)]
      return path === undefined || text === undefined ? undefined : { [path]: this.filePath(file), [text]: content }
    })
  }

  read(file: string): ToolCall | undefined {
    return this.first(READS, (shape) => {
      if (named(shape, CONTENT) !== undefined) return undefined
      const path = named(shape, PATH)
      if (path !== undefined) return { [path]: this.filePath(file) }
      const paths = named(shape, FILES, 'array')
      const value = paths === undefined ? undefined : listValue(this.filePath(file), shape.properties[paths], PATH)
      return paths === undefined || value === undefined ? undefined : { [paths]: value }
    })
  }

  /** The call that lists the agent's folder. */
  list(): ToolCall | undefined {
    return this.first(LISTS, (shape) => {
      const pattern = named(shape, PATTERN)
      if (pattern !== undefined) return { [pattern]: '*' }
      const folder = named(shape, FOLDER)
      return folder === undefined ? undefined : { [folder]: this.folder ?? '.' }
    })
  }

  /** The first tool whose name fits and whose arguments can be given. @param chosen the arguments that matter. */
  private first(name: RegExp, chosen: (shape: Shape) => JsonObject | undefined): ToolCall | undefined {
    for (const shape of this.shapes) {
      if (!name.test(shape.tool.name) || OTHERS.test(shape.tool.name)) continue
      const args = chosen(shape)
      if (args) return { name: shape.tool.name, args: this.completed(shape, args) }
    }
    return undefined
  }

  /** With what is required beside: nothing that an example would change is switched on. */
  private completed({ schema, properties, required }: Shape, chosen: JsonObject): JsonObject {
    const args: JsonObject = { ...chosen }
    for (const name of required) args[name] ??= this.fill(name, properties[name], schema)
    return args
  }

  private fill(name: string, property: JsonObject | undefined, schema: JsonObject): Json {
    if (property === undefined) return schemaInstance(true)
    if (property.default !== undefined) return property.default
    if (takes(property, 'null')) return null
    if (property.type === 'boolean') return false
    if (isFreeText(property) && REMARK.test(name)) return 'A sample without a model'
    if (isFreeText(property) && FOLDER.test(name)) return this.folder ?? '.'
    const instance = schemaInstance({ ...schema, properties: { [name]: property }, required: [name] })
    return isObject(instance) ? (instance[name] ?? null) : null
  }

  private filePath(file: string): string {
    const { folder } = this
    if (folder === undefined) return file
    return `${folder}${folder.includes('\\') ? '\\' : '/'}${file}`
  }
}

function toolShape(tool: FunctionTool): Shape | undefined {
  const schema = tool.parameters
  if (!schema || !isObject(schema.properties)) return undefined
  const properties: Record<string, JsonObject> = {}
  for (const [name, property] of Object.entries(schema.properties)) properties[name] = isObject(property) ? property : {}
  return { tool, schema, properties, required: Array.isArray(schema.required) ? schema.required.map(String) : [] }
}

/** The argument of such a name, a required one first. @param type `string` has free text: an enum is a choice between other things. */
function named({ properties, required }: Shape, name: RegExp, type = 'any'): string | undefined {
  const fits = (each: string): boolean => {
    const property = properties[each]
    if (property === undefined || !name.test(each)) return false
    return type === 'array' ? takes(property, 'array') : isFreeText(property) || (name === COMMAND && takes(property, 'array'))
  }
  return required.find(fits) ?? Object.keys(properties).find(fits)
}

function takes(property: JsonObject, type: string): boolean {
  const types = Array.isArray(property.type) ? property.type : [property.type]
  if (types.includes(type)) return true
  const options = property.anyOf ?? property.oneOf
  return Array.isArray(options) && options.some((each) => isObject(each) && takes(each, type))
}

const isFreeText = (property: JsonObject): boolean =>
  property.enum === undefined && property.const === undefined && takes(property, 'string')

/** A command as text, as the arguments of a program, or as one of several commands. */
function commandValue(command: string, property: JsonObject | undefined): Json | undefined {
  if (property === undefined) return undefined
  if (isFreeText(property)) return command
  const list = listValue(command, property, COMMAND)
  // A single command as a list is what a program is started with.
  return list?.length === 1 && typeof list[0] === 'string' && !isPlural(property) ? ['bash', '-lc', command] : list
}

/** Lists of commands say so in their description, or have objects as items. */
const isPlural = ({ description }: JsonObject): boolean => typeof description === 'string' && /commands/i.test(description)

/** One value in a list of texts, or of objects with an argument of such a name. */
function listValue(value: string, property: JsonObject | undefined, name: RegExp): Json[] | undefined {
  const items = property === undefined ? undefined : arrayItems(property)
  if (items === undefined) return undefined
  if (isFreeText(items)) return [value]
  const member = isObject(items.properties) ? Object.keys(items.properties).find((each) => name.test(each)) : undefined
  return member === undefined ? undefined : [{ [member]: value }]
}

function arrayItems(property: JsonObject): JsonObject | undefined {
  if (isObject(property.items)) return property.items
  const options = property.anyOf ?? property.oneOf
  if (!Array.isArray(options)) return undefined
  const list = options.find((each): each is JsonObject => isObject(each) && isObject(each.items))
  return list && isObject(list.items) ? list.items : undefined
}
