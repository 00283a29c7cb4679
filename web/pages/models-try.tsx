/** The link from a model to the playground. */
import type { Model } from '../api-types.ts'
import { pathTo } from '../router.ts'

/** True for a model that replies to messages: embedding models do not. */
export const answers = ({ architecture }: Pick<Model, 'architecture'>): boolean => !architecture.output_modalities.includes('embeddings')

interface TryLinkProps {
  readonly model: Pick<Model, 'id' | 'name' | 'architecture'>
  readonly isPrimary?: boolean
}

export function TryLink({ model, isPrimary = false }: TryLinkProps) {
  if (!answers(model)) return null
  return (
    <a
      class={`button small${isPrimary ? ' primary' : ''}`}
      href={pathTo(['models', 'playground'], { model: model.id })}
      aria-label={`Try ${model.name}`}
    >
      Try
    </a>
  )
}
