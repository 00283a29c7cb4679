/** Names that other parts of the file refer to. Where a section cannot be read any name may be in it: none is reported then. */
import { isLatestSlug, latestSlug, slugAuthor } from '../core/model-family.ts'
import type { RawConfig, RawModels } from './schema/root.ts'
import { brand } from './schema/server.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'

/** Models of one file, with the source that their problems belong to. */
export interface ModelFile {
  source: Source
  models: RawModels
}

/** The file itself, then catalogue files. */
export type ModelFiles = readonly [ModelFile, ...ModelFile[]]

/** True where the section may stand in the file under a wrong name. */
export function lacksModels(raw: RawConfig, main: Source): boolean {
  return raw.models === undefined && main.isMisnamed([])
}

export class References {
  /** Of the models of all files. */
  readonly slugs: ReadonlySet<string>
  private readonly raw: RawConfig
  private readonly main: Source
  private readonly hasAllModels: boolean
  private readonly brand: string
  /** Slugs of the newest model of each declared family. */
  private readonly families: ReadonlySet<string | undefined>

  /** `files` begins with the file itself; catalogue files follow. */
  constructor(raw: RawConfig, main: Source, files: readonly ModelFile[]) {
    this.raw = raw
    this.main = main
    this.slugs = new Set(files.flatMap(({ models }) => Object.keys(models)))
    const catalogs = [...(raw.catalog ?? []).keys()]
    const isLost = main.isWrong(['catalog']) || catalogs.some((index) => main.isWrong(['catalog', index]))
    const sections = [['models'], ['aliases'], ['providers']]
    const isWrong = files.some(({ source }) => source.unreadable || sections.some((path) => source.isWrong(path)))
    this.hasAllModels = !isLost && !isWrong && !lacksModels(raw, main)
    this.brand = raw.brand?.word ?? brand.properties.word.default
    this.families = new Set([...this.slugs].map(latestSlug))
  }

  /** True for a slug that a model, an alias, a wildcard or a provider with `discover` may answer to, with or without a variant. */
  hasModel(slug: string): boolean {
    if (!this.hasAllModels) return true
    const { slugs, raw } = this
    const bare = slug.replace(/:.*$/, '')
    const author = slugAuthor(slug)
    const aliases = raw.aliases ?? {}
    const known = (each: string): boolean => slugs.has(each) || Object.hasOwn(aliases, each)
    return known(slug) || known(bare) || (author !== '' && slugs.has(`${author}/*`)) || this.discovers(author)
  }

  /** As `hasModel`, or a slug that stands for a choice among models: the newest of a family, or one that a plugin answers for. */
  resolves(slug: string): boolean {
    if (this.hasModel(slug)) return true
    const bare = slug.replace(/:.*$/, '')
    if (bare.startsWith(`${this.brand}/`)) return true
    if (!isLatestSlug(bare)) return false
    return this.families.has(bare) || this.discovers(bare.slice(1, bare.indexOf('/')))
  }

  hasProvider(name: string): boolean {
    return this.main.isWrong(['providers']) || Object.hasOwn(this.raw.providers, name)
  }

  /** For messages. */
  nearestProvider(name: string): string {
    return hint(name, Object.keys(this.raw.providers))
  }

  private discovers(name: string): boolean {
    if (!Object.hasOwn(this.raw.providers, name)) return false
    return this.main.isWrong(['providers', name, 'discover']) || Boolean(this.raw.providers[name]?.discover)
  }
}
