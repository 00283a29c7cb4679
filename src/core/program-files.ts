/**
 * Files that come with the program: beside its sources, or inside the single file (decision 23). There the bundler has made every
 * `import.meta.url` a path below the executable itself, where nothing on disk can stand, so one path names the same file everywhere.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { sep } from 'node:path'
import { getAsset, getAssetKeys, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'

/** With a separator at its end. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const INSIDE: ReadonlySet<string> | undefined = isSea() ? new Set(getAssetKeys()) : undefined

/** @returns the name of a file inside the single file; undefined for one on disk. */
function nameInside(path: string): string | undefined {
  return INSIDE && path.startsWith(ROOT) ? path.slice(ROOT.length).split(sep).join('/') : undefined
}

/** The text of any file, on disk or of the program. @throws as `readFileSync` does. */
export function fileText(path: string): string {
  const name = nameInside(path)
  return name !== undefined && INSIDE?.has(name) ? getAsset(name, 'utf8') : readFileSync(path, 'utf8')
}

/** The bytes of any file, on disk or of the program. @throws as `readFileSync` does. */
export function fileBytes(path: string): Buffer {
  const name = nameInside(path)
  return name !== undefined && INSIDE?.has(name) ? Buffer.from(getAsset(name)) : readFileSync(path)
}

/** Names of what stands in a folder of the program. */
export function programFolder(path: string): string[] {
  const name = nameInside(path)
  if (name === undefined) return readdirSync(path)
  const folder = name.endsWith('/') ? name : `${name}/`
  const below = [...(INSIDE ?? [])].filter((file) => file.startsWith(folder)).map((file) => file.slice(folder.length).split('/'))
  return [...new Set(below.flatMap(([first]) => first ?? []))]
}

/** True if a file is part of the single file, where only the functions above find it. */
export function isInside(path: string): boolean {
  return INSIDE?.has(nameInside(path) ?? '') ?? false
}
