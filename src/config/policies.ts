/** Rules of policies that the schema cannot state: their conditions compile, and their effects suit the time at which these are known. */
import { type Condition, compileCondition, isProblem } from './conditions/condition.ts'
import { checkPreferences } from './key-rules.ts'
import type { Path } from './problems.ts'
import type { References } from './references.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'

type RawPolicy = NonNullable<RawConfig['policies']>[number]

const EFFECTS = ['deny', 'route', 'limit', 'guardrails'] as const
const MAX_POLICIES = 100
/** Steps of all conditions together: 50 ms. */
const MAX_STEPS = 500_000

export function checkPolicies(raw: RawConfig, main: Source, references: References): void {
  const policies = raw.policies ?? []
  if (policies.length > MAX_POLICIES) main.report(['policies'], `${policies.length} policies, expected at most ${MAX_POLICIES}`)
  const names = new Set<string>()
  let steps = 0
  for (const [index, policy] of policies.entries()) {
    const at: Path = ['policies', index]
    if (names.has(policy.name)) main.report([...at, 'name'], 'a second policy of this name, expected another')
    names.add(policy.name)
    main.check(() => {
      const condition = checkCondition(policy.when, [...at, 'when'], main)
      steps += condition?.steps ?? 0
      checkEffect(policy, condition, at, main)
    })
    main.check(() => checkNames(policy, at, { raw, main, references }))
  }
  if (steps > MAX_STEPS)
    main.report(
      ['policies'],
      `their conditions may take ${steps.toLocaleString('en')} steps together for the largest request, expected at most ${MAX_STEPS.toLocaleString('en')}`,
      'key',
    )
}

/** @returns undefined where it does not compile. */
function checkCondition(text: string, at: Path, main: Source): Condition | undefined {
  if (main.isWrong(at) || main.isUnset(at)) return undefined
  const found = compileCondition(text)
  if (!isProblem(found)) return found
  const { message, offset, word, known } = found
  const help = word !== undefined && known ? hint(word, known) : ''
  main.report(at, `${message}${help} (character ${offset + 1})`)
  return undefined
}

function checkEffect(policy: RawPolicy, condition: Condition | undefined, at: Path, main: Source): void {
  const effects = EFFECTS.filter((effect) => policy[effect] !== undefined)
  const [first, second] = effects
  if (first === undefined && !EFFECTS.some((effect) => main.mayHave(at, effect)))
    main.report(at, `expected an effect, one of: ${EFFECTS.join(', ')}`, 'key')
  if (first !== undefined && second !== undefined)
    main.report([...at, second], `stands beside ${first}, expected one effect: a second policy may have the same condition`, 'key')
  for (const effect of ['route', 'limit'] as const)
    if (policy[effect] && Object.keys(policy[effect]).length === 0) main.report([...at, effect], 'expected at least one field', 'key')
  const { stage } = condition ?? {}
  if (first !== undefined && first !== 'deny' && stage !== undefined && stage !== 'request')
    main.report(
      [...at, first],
      `is decided before any ${stage} is known, which the condition reads: expected deny, or a condition over the caller and the request`,
      'key',
    )
}

interface Place {
  readonly raw: RawConfig
  readonly main: Source
  readonly references: References
}

function checkNames({ route, guardrails = [] }: RawPolicy, at: Path, { raw, main, references }: Place): void {
  const known = raw.guardrails ?? []
  const names = known.map(({ name }) => name)
  for (const [place, name] of guardrails.entries()) {
    const here: Path = [...at, 'guardrails', place]
    const found = known.find((each) => each.name === name)
    if (!found && !main.isWrong(['guardrails'])) main.report(here, `no such guardrail${hint(name, names)}`)
    if (found && !found.scope && !main.isMisnamed(['guardrails', known.indexOf(found)]))
      main.warn(here, 'holds for every request already: scope: { keys: [] } has it hold where policies name it alone')
  }
  if (route?.model !== undefined && !references.resolves(route.model))
    main.report([...at, 'route', 'model'], `no such model${hint(route.model, [...references.slugs, ...Object.keys(raw.aliases ?? {})])}`)
  checkPreferences(route?.provider, [...at, 'route', 'provider'], references, main)
}
