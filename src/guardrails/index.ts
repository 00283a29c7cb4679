export { type Finding, guardrailFault, guardrailStage } from './finding.ts'
export { ownTexts, requestTexts } from './request-texts.ts'
export { type ContentFilter, compilePatterns, patternProblem, type Scanner } from './scanner.ts'
