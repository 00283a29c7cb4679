/** Quirks of models behind Amazon Bedrock's Converse. */
import { Type } from 'typebox'
import type { Json } from '../../core/json.ts'
import { body, choiceQuirk, efforts, flag, forcedTools, listQuirk, mediaUrls, word } from '../canon/quirks.ts'

export const bedrockQuirks = {
  thinking: choiceQuirk(
    'How reasoning is requested, in `additionalModelRequestFields`: `thinking` with a budget in tokens (`budget`) or with an effort (`adaptive`), as Claude takes it; or the field that has the effort: `reasoningConfig` (Nova 2), `reasoning_effort` (gpt-oss), `reasoning_config` (Qwen), `reasoning` (GPT). `none`: the model does not reason. If unset: `budget`.',
    ['budget', 'adaptive', 'reasoningConfig', 'reasoning_effort', 'reasoning_config', 'reasoning', 'none'],
  ),
  thinking_off: choiceQuirk(
    'How an adaptive model is kept from thinking: `disabled`, `between_tools`, or `adaptive` where it always thinks and gets the lowest effort. If unset: `disabled`.',
    ['disabled', 'between_tools', 'adaptive'],
  ),
  efforts,
  top_k: word(
    'Member of `additionalModelRequestFields` that has `top_k`; `inferenceConfig`: `topK` in an object of that name. If unset: `top_k`.',
  ),
  forced_tools: forcedTools,
  json_schema: choiceQuirk(
    '`words`: the model takes no schema of the answer and no strict tools; the schema stands in the system prompt. If unset: the schema is enforced.',
    ['words'],
  ),
  system_messages: flag('Whether system messages may be in the middle of a conversation. If unset: they become text of the user.'),
  guardrails: listQuirk(
    'Guardrails that callers may name in `guardrailConfig`, as `ID` or `ID:VERSION`; AWS bills the account for what they read. If unset: none, and the field is left out.',
    word('A guardrail.', 2048),
  ),
  stored_files: flag(
    'True: callers may name images and files as `s3://` addresses, which the service reads with the rights of the account. If unset: they are left out.',
  ),
  model_fields: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$' }), Type.Unsafe<Json>({ description: 'A value.' }), {
    description: 'Members of `additionalModelRequestFields` that are always sent, over those of callers.',
    keyExpected: 'the name of a member of `additionalModelRequestFields`',
  }),
  media_urls: mediaUrls,
  body,
}
