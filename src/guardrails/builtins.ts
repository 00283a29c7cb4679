/** The built-in recognisers by the names that guardrails use for them (docs/contract.md#guardrails). */
import type { Detector } from './detector.ts'
import { address } from './recognise/address.ts'
import { apiKey } from './recognise/api-key.ts'
import { creditCard } from './recognise/credit-card.ts'
import { email } from './recognise/email.ts'
import { iban } from './recognise/iban.ts'
import { ipAddress } from './recognise/ip-address.ts'
import { personName } from './recognise/person-name.ts'
import { phone } from './recognise/phone.ts'
import { ssn } from './recognise/ssn.ts'

export const BUILTINS = {
  email: { placeholder: '[EMAIL]', detector: email },
  phone: { placeholder: '[PHONE]', detector: phone },
  ssn: { placeholder: '[SSN]', detector: ssn },
  'credit-card': { placeholder: '[CREDIT_CARD]', detector: creditCard },
  'ip-address': { placeholder: '[IP_ADDRESS]', detector: ipAddress },
  'person-name': { placeholder: '[PERSON_NAME]', detector: personName },
  address: { placeholder: '[ADDRESS]', detector: address },
  iban: { placeholder: '[IBAN]', detector: iban },
  'api-key': { placeholder: '[API_KEY]', detector: apiKey },
} as const satisfies Record<string, { placeholder: string; detector: Detector }>

export type SensitiveSlug = keyof typeof BUILTINS
/** The one built-in that looks for orders instead of data; it takes settings of its own. */
export const INJECTION_SLUG = 'regex-prompt-injection'
export const INJECTION_PLACEHOLDER = '[PROMPT_INJECTION]'
export type BuiltinSlug = SensitiveSlug | typeof INJECTION_SLUG
