/**
 * Records which functions of `src` and `plugins` a program enters, in order: a load hook puts a mark at the start of each function.
 * Import before what is to be recorded. A function that goes on after an `await` has not entered anew.
 */
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AnyNode, type Function as FunctionNode, parse } from 'acorn'
import { ancestor } from 'acorn-walk'
import { ROOT } from '../../test/repository/source-tree.ts'

/** A function of the sources. Two of one name in a file differ in their place. */
export interface SourceFunction {
  readonly path: string
  readonly name: string
}

const functions: SourceFunction[] = []
let entries: number[] | undefined

declare global {
  /** Called at the start of each function, by its number. */
  var __entered: (index: number) => void
}
globalThis.__entered = (index) => void entries?.push(index)

/** The functions that are entered while the work runs, in order. */
export async function entriesDuring(work: () => Promise<void>): Promise<readonly SourceFunction[]> {
  entries = []
  await work()
  const entered = entries
  entries = undefined
  return entered.map((index) => functions[index] as SourceFunction)
}

function nameFor(node: FunctionNode, parent: AnyNode | undefined): string {
  if (node.id) return node.id.name
  if (parent?.type === 'MethodDefinition' || parent?.type === 'Property' || parent?.type === 'PropertyDefinition')
    return parent.key.type === 'Identifier' ? parent.key.name : 'anonymous'
  return parent?.type === 'VariableDeclarator' && parent.id.type === 'Identifier' ? parent.id.name : 'anonymous'
}

/** The program with a mark at the start of each of its functions. */
function marked(path: string, code: string): string {
  const marks: { at: number; text: string }[] = []
  const mark = (node: FunctionNode, parents: readonly AnyNode[]): void => {
    const call = `__entered(${functions.length})`
    functions.push({ path, name: `${nameFor(node, parents.at(-2))} at ${code.slice(0, node.start).split('\n').length}` })
    if (node.body.type === 'BlockStatement') marks.push({ at: node.body.start + 1, text: `${call};` })
    // The body ends where the arrow ends but for the bracket that may stand around it.
    else marks.push({ at: code.indexOf('=>', node.params.at(-1)?.end ?? node.start) + 2, text: ` (${call},` }, { at: node.end, text: ')' })
  }
  const visit = (node: AnyNode, _: unknown, parents: AnyNode[]): void => mark(node as FunctionNode, parents)
  const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module' })
  ancestor(program, { FunctionDeclaration: visit, FunctionExpression: visit, ArrowFunctionExpression: visit })
  // At one place what closes comes before what opens, and what closes inside before what closes around it.
  return marks
    .map((each, order) => ({ ...each, order }))
    .sort((a, b) => b.at - a.at || b.order - a.order)
    .reduce((text, { at, text: added }) => text.slice(0, at) + added + text.slice(at), code)
}

registerHooks({
  load(url, context, next) {
    const path = url.startsWith('file://') ? relative(ROOT, fileURLToPath(url)) : ''
    const loaded = next(url, context)
    if (!/^(src|plugins)\/.*\.ts$/.test(path)) return loaded
    const source = stripTypeScriptTypes(String(loaded.source), { mode: 'strip' })
    return { ...loaded, format: 'module', source: marked(path, source) }
  },
})
