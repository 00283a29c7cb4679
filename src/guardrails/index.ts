export { AnswerPolicy } from './answer-policy.ts'
export { answerEngineFault, answerFault, answerStages, type Held, ofAnswer, readStage } from './answer-report.ts'
export { ArgsStream } from './args-stream.ts'
export type { EngineQuestion, EngineSettings, EngineVerdict, ExternalEngine } from './engine.ts'
export { externalEngine } from './engines.ts'
export { type Evidence, stageEvidence } from './evidence.ts'
export { Findings, type Hit } from './findings.ts'
export { jsonTexts, withTexts } from './json-texts.ts'
export { itemPassages, passages, rewrite } from './passages.ts'
export { arePrepared, preparePatterns } from './pattern.ts'
export { redacted, type Span } from './redaction.ts'
export { blockFault, engineFault, engineStage, hitStages, silentStage } from './report.ts'
export {
  type BuiltinFilter,
  type ContentFilter,
  compileRules,
  type GuardrailName,
  type Rule,
  type TextFilters,
} from './rule.ts'
export { type Passage, Scan, TextPolicy } from './scan.ts'
export { HELD_MOST, TextStream } from './text-stream.ts'
export { Vault } from './vault.ts'
export { isMedia, legible, wholeValue } from './whole-answer.ts'
