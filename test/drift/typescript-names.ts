/** Names of the types of SDKs in TypeScript: their expressions are put into one file, which the compiler evaluates. */

import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Kind, TypeScriptSdk } from './sdks.ts'

/** Names that the expressions may use. Paths of an object's members go through lists and optional members. */
const TYPES = `
type Known<T> = { [N in keyof T as string extends N ? never : N]: T[N] }
type Members<T> = T extends T ? Exclude<keyof Known<T> & string, '$unknown'> : never
type Words<T> = Extract<T, string>
type Kinds<T, D extends string = 'type'> = T extends { [N in D]?: infer W } ? Extract<W, string> : never
type Spelled<T extends string> = \`\${T}\`
type Values<T> = Extract<T[keyof T], string>
type Each<T> = T extends readonly (infer E)[] ? E : T
type Paths<T, P extends string = ''> = T extends object
  ? T extends readonly (infer E)[]
    ? Paths<E, P>
    : { [N in keyof Known<T> & string]-?: \`\${P}\${N}\` | Paths<NonNullable<T[N]>, \`\${P}\${N}.\`> }[keyof Known<T> & string]
  : never
`

const alias = (sdk: number, kind: string): string => `Names_${sdk}_${kind}`

function sdkSource(sdks: readonly TypeScriptSdk[]): string {
  const lines = [TYPES]
  for (const [index, { imports, names }] of sdks.entries()) {
    for (const [name, module] of Object.entries(imports)) lines.push(`import type * as ${name}_${index} from '${module}'`)
    for (const [kind, expression] of Object.entries(names)) {
      const own = Object.keys(imports).reduce(
        (text, name) => text.replaceAll(new RegExp(`\\b${name}\\.`, 'g'), `${name}_${index}.`),
        expression,
      )
      lines.push(`export type ${alias(index, kind)} = ${own}`)
    }
  }
  return lines.join('\n')
}

/** The little of the compiler's interface that is used, since the one that the repository has comes without it. */
interface Compiler {
  createProgram(files: string[], options: object): CompilerProgram
  flattenDiagnosticMessageText(text: unknown, separator: string): string
  ModuleKind: { NodeNext: number }
  ScriptTarget: { ES2022: number }
}
interface CompilerNode {
  name?: { text: string }
  forEachChild(visit: (node: CompilerNode) => void): void
}
interface CompilerType {
  types?: CompilerType[]
  value?: unknown
  isUnion(): boolean
  isStringLiteral(): boolean
}
interface CompilerProgram {
  getSourceFile(path: string): CompilerNode
  getSemanticDiagnostics(file: CompilerNode): { messageText: unknown }[]
  getTypeChecker(): { getTypeAtLocation(node: CompilerNode): CompilerType }
}

/**
 * @param folder where the SDKs and the compiler are installed.
 * @returns the names of each SDK by kind, in the order of `sdks`.
 * @throws where an expression does not compile, or names no words at all: a type has gone or has another name.
 */
export function typescriptNames(folder: string, sdks: readonly TypeScriptSdk[]): Partial<Record<Kind, string[]>>[] {
  const ts = createRequire(join(folder, 'package.json'))('typescript') as Compiler
  const file = join(folder, 'names.ts')
  writeFileSync(file, sdkSource(sdks))
  const program = ts.createProgram([file], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  })
  const source = program.getSourceFile(file)
  const wrong = program.getSemanticDiagnostics(source).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
  if (wrong.length > 0) throw new Error(`the expressions of test/drift/sdks.ts do not compile: ${wrong.join('; ')}`)
  const words = new Map<string, string[]>()
  source.forEachChild((node) => {
    if (node.name === undefined) return
    const type = program.getTypeChecker().getTypeAtLocation(node)
    const members = type.isUnion() ? (type.types ?? []) : [type]
    words.set(node.name.text, members.flatMap((member) => (member.isStringLiteral() ? [String(member.value)] : [])).sort())
  })
  return sdks.map(({ package: name, names }, index) => {
    const found: Partial<Record<Kind, string[]>> = {}
    for (const kind of Object.keys(names) as Kind[]) {
      const own = words.get(alias(index, kind)) ?? []
      if (own.length === 0) throw new Error(`${name} has no names of the kind ${kind}: look at its types`)
      found[kind] = own
    }
    return found
  })
}
