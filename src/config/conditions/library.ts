/** The library that reads and evaluates CEL, loaded with the first condition: a configuration without any never pays for it. */
import { createRequire } from 'node:module'
import type { Environment } from '@marcbachmann/cel-js'

type Package = typeof import('@marcbachmann/cel-js')

let loaded: Package | undefined

/** CEL in JavaScript, without dependencies. */
export function celLibrary(): Package {
  loaded ??= createRequire(import.meta.url)('@marcbachmann/cel-js') as Package
  return loaded
}

export type CelEnvironment = Environment

/** A node of a parsed expression, as far as it matters here (@marcbachmann/cel-js 8.0.0, lib/parser.js, `ASTNode`). */
export interface CelNode {
  readonly op: string
  readonly args: unknown
  readonly start: number
}

/** An error of the library (lib/errors.js): `summary` is its message without the text of the expression. */
export interface CelProblem {
  readonly code?: string
  readonly summary?: string
  readonly range?: { readonly start: number }
  readonly node?: CelNode
}

export function isNode(value: unknown): value is CelNode {
  return typeof value === 'object' && value !== null && 'op' in value
}
