/** Which files import which, and circles among them. */
import { dirname, join, normalize } from 'node:path/posix'
import { listImports } from './import-rules.ts'
import type { SourceFile } from './source-tree.ts'

export type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** Files of the program that each file imports. @param types whether imports of types alone count. */
export function importGraph(files: readonly SourceFile[], types: boolean): Graph {
  const known = new Set(files.map(({ path }) => path))
  const targets = ({ path, text }: SourceFile): string[] =>
    listImports(text)
      .filter(({ typeOnly }) => types || !typeOnly)
      .map(({ specifier }) => normalize(join(dirname(path), specifier)))
      .filter((target) => known.has(target))
  return new Map(files.map((file) => [file.path, new Set(targets(file))]))
}

/** Groups of files that all reach each other (Tarjan's strongly connected components of more than one node). */
export function findCircles(graph: Graph): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (node: string): number => {
    const number = order.size
    order.set(node, number)
    stack.push(node)
    let low = number
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next))
      else if (stack.includes(next)) low = Math.min(low, order.get(next) ?? low)
    }
    lowest.set(node, low)
    if (low === number) {
      const circle = stack.splice(stack.indexOf(node))
      if (circle.length > 1) circles.push(circle.sort())
    }
    return low
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return circles
}
