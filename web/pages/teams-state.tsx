/** State of an organization, a workspace or a member. */
import { Badge } from '../components/values.tsx'
import type { Level } from './teams-levels.ts'

export function LevelState({ level: { disabled } }: { level: Pick<Level, 'disabled'> }) {
  return disabled ? <Badge tone="warn">Disabled</Badge> : <Badge tone="good">In use</Badge>
}
