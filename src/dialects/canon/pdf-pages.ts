/**
 * Cost of a PDF: tokens of a page, and an upper bound of the number of its pages, without reading any of them: the leaves of its page tree (ISO 32000-1, 7.7.3), whose nodes
 * list their children under `Kids`. Nodes may stand within compressed object streams (7.5.7).
 */
import { inflateSync } from 'node:zlib'

/** Tokens of a page of a PDF, its text and its picture together (platform.claude.com, PDF support: 1,500 to 3,000 and an image). */
export const PAGE_TOKENS = 5_000

/** Bytes of object streams that are decompressed; page trees of thousands of pages take a part of it. */
const MAX_INFLATED = 16 * 1024 * 1024
/** References of all page trees together. */
const MAX_CHILDREN = 200_000

/** `Kids` and `ObjStm` with letters written as numbers (7.3.5): nothing but a search for the names finds the tree. */
const DISGUISED = ['/#4B', '/#4b', '/K#6', '/Ki#6', '/Kid#7', '/#4F', '/#4f', '/O#6', '/Ob#6', '/Obj#5', '/ObjS#7', '/ObjSt#6']

/** Children of each node by its number; all of its versions where the file was changed. */
type Tree = Map<number, number[][]>

/** The tree cannot be read. */
class Unreadable extends Error {}

/** @returns undefined where they cannot be counted: the file is encrypted, damaged or unusual. */
export function pdfPages(bytes: Buffer): number | undefined {
  if (bytes.includes('/Encrypt') || DISGUISED.some((name) => bytes.includes(name))) return undefined
  const tree: Tree = new Map()
  try {
    readNodes(bytes, tree, (at) => numberBefore(bytes, at))
    readObjectStreams(bytes, tree)
    const known = new Map<number, number>()
    let most = 0
    for (const node of tree.keys()) most = Math.max(most, countLeaves(node, tree, known))
    return most > 0 && Number.isFinite(most) ? most : undefined
  } catch (problem) {
    if (problem instanceof Unreadable) return undefined
    throw problem
  }
}

/** @param ownerAt number of the object that a place lies in. */
function readNodes(bytes: Buffer, tree: Tree, ownerAt: (at: number) => number): void {
  for (let at = bytes.indexOf('/Kids'); at !== -1; at = bytes.indexOf('/Kids', at + 1)) {
    const end = bytes.indexOf(']', at)
    const list = /^\/Kids[\s\0]*\[((?:[\s\0]*\d+[\s\0]+\d+[\s\0]+R)*)[\s\0]*\]$/.exec(bytes.toString('latin1', at, end + 1))
    if (list?.[1] === undefined) throw new Unreadable()
    const children = Array.from(list[1].matchAll(/(\d+)[\s\0]+\d+[\s\0]+R/g), ([, number]) => Number(number))
    const node = ownerAt(at)
    const versions = tree.get(node) ?? []
    versions.push(children)
    tree.set(node, versions)
  }
}

/** `12 0 obj` in front of a place. */
function numberBefore(bytes: Buffer, at: number): number {
  const start = bytes.lastIndexOf(' obj', at)
  const number = start === -1 ? undefined : /(\d+)[\s\0]+\d+$/.exec(bytes.toString('latin1', Math.max(0, start - 32), start))?.[1]
  if (number === undefined) throw new Unreadable()
  return Number(number)
}

function readObjectStreams(bytes: Buffer, tree: Tree): void {
  let left = MAX_INFLATED
  for (let at = bytes.indexOf('/ObjStm'); at !== -1; at = bytes.indexOf('/ObjStm', at + 1)) {
    const begin = bytes.indexOf('stream', at)
    const start = bytes.lastIndexOf(' obj', at)
    const end = bytes.indexOf('endstream', begin)
    if (begin === -1 || start === -1 || end === -1 || begin - start > 4096) throw new Unreadable()
    const head = bytes.toString('latin1', start, begin)
    const first = Number(/\/First[\s\0]+(\d+)/.exec(head)?.[1])
    const isFlate = head.includes('/FlateDecode')
    if (!(first > 0) || head.includes('/DecodeParms') || (head.includes('/Filter') && !isFlate)) throw new Unreadable()
    const from = begin + 'stream'.length + (bytes[begin + 6] === 0x0d ? 2 : 1)
    const content = isFlate ? inflated(bytes.subarray(from, end), left) : bytes.subarray(from, end)
    left -= content.length
    const places = indexPlaces(content.toString('latin1', 0, first), first)
    readNodes(content, tree, (place) => places.findLast(({ offset }) => offset <= place)?.number ?? -1)
  }
}

/** Numbers of the objects of a stream, and where each begins. */
function indexPlaces(index: string, first: number): { number: number; offset: number }[] {
  const numbers = index
    .trim()
    .split(/[\s\0]+/)
    .map(Number)
  const places: { number: number; offset: number }[] = []
  for (let i = 0; i + 1 < numbers.length; i += 2) places.push({ number: numbers[i] ?? -1, offset: first + (numbers[i + 1] ?? 0) })
  return places
}

function inflated(bytes: Buffer, most: number): Buffer {
  if (most <= 0) throw new Unreadable()
  try {
    return inflateSync(bytes, { maxOutputLength: most })
  } catch {
    throw new Unreadable()
  }
}

/** A node may hang in the tree more than once; one that hangs below itself has no pages. */
function countLeaves(root: number, tree: Tree, known: Map<number, number>): number {
  const before = known.get(root)
  if (before !== undefined) return before
  const versions = tree.get(root)
  if (!versions) return 1
  known.set(root, 0)
  let most = 0
  for (const children of versions) {
    if (children.length > MAX_CHILDREN || known.size > MAX_CHILDREN) throw new Unreadable()
    let sum = 0
    for (const child of children) sum += countLeaves(child, tree, known)
    most = Math.max(most, sum)
  }
  known.set(root, most)
  return most
}
