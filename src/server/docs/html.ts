/** Text as HTML, and the addresses that the reference pages link to. */
import type { Json } from '../../core/json.ts'

/** Where pages and files are: paths of a gateway, or files beside each other. */
export interface Addresses {
  /** @param slug of the page; empty for the first one. */
  page(slug: string): string
  asset(file: string): string
  readonly document: string
}

export const GATEWAY_ADDRESSES: Addresses = {
  page: (slug) => (slug === '' ? '/docs' : `/docs/${slug}`),
  asset: (file) => `/docs/${file}`,
  document: '/openapi.json',
}

export const FILE_ADDRESSES: Addresses = {
  page: (slug) => `${slug === '' ? 'index' : slug}.html`,
  asset: (file) => file,
  document: 'openapi.json',
}

/** Slug of the page with all named schemas. */
export const SCHEMAS = 'schemas'

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** For text and for quoted attributes. */
export function escaped(text: Json): string {
  return String(text).replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? `&#${sign.charCodeAt(0)};`)
}

/** Prose with `code` in it. */
export function inline(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
