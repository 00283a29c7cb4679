export { BUILTINS, type BuiltinSlug, INJECTION_SLUG } from './builtins.ts'
export type { EngineQuestion, EngineSettings, EngineVerdict, ExternalEngine } from './engine.ts'
export { externalEngine } from './engines.ts'
export { itemPassages, type Passage, passages, rewrite } from './passages.ts'
export { patternProblem } from './pattern.ts'
export { blockFault, engineFault, engineStage, silentStage, stagesOf } from './report.ts'
export { ownTexts } from './request-texts.ts'
export {
  type Action,
  type BuiltinFilter,
  type ContentFilter,
  compileRules,
  type GuardrailName,
  type Rule,
  type TextFilters,
} from './rule.ts'
export { Scan, TextPolicy } from './scan.ts'
