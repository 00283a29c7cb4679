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
import type { SensitiveSlug } from './settings/recognisers.ts'

export const BUILTINS: Readonly<Record<SensitiveSlug, Detector>> = {
  email,
  phone,
  ssn,
  'credit-card': creditCard,
  'ip-address': ipAddress,
  'person-name': personName,
  address,
  iban,
  'api-key': apiKey,
}
