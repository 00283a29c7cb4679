/**
 * Charges as rows of FOCUS 1.2 (FinOps Open Cost and Usage Specification, focus.finops.org): one for each priced quantity of a request, and
 * one for each entry of the ledger. `BilledCost` is the charge in whole nano-dollars, so that its sums are those of the ledger;
 * `ListCost` and `ContractedCost` are quantity times price, exactly, as their columns require.
 */
import { ACCOUNT_KINDS, accountIdentity, readAccount } from '../core/account-kinds.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { entryGeneration, type LedgerEntry, movedBy } from '../core/ledger-entries.ts'
import { accountName, type LevelTree } from '../core/levels.ts'
import { rateFromUsd, rateText, usdText } from '../core/money-text.ts'
import { splitPayers } from '../core/payers.ts'
import { TOKEN_KINDS } from '../core/token-kinds.ts'
import { WORKSPACE } from '../core/workspace.ts'
import { parseFacts } from '../ledger/facts.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { CsvList } from './described-operation.ts'
import { moneyLines } from './generation-money.ts'

const AMOUNTS = [
  ...['BilledCost', 'EffectiveCost', 'ListCost', 'ListUnitPrice', 'ContractedCost', 'ContractedUnitPrice'],
  ...['PricingCurrencyContractedUnitPrice', 'PricingCurrencyEffectiveCost', 'PricingCurrencyListUnitPrice'],
  ...['ConsumedQuantity', 'PricingQuantity'],
]

/** Columns of the specification first, then those of the gateway, which it requires to begin with `x_` (FOCUS 1.2, Column Handling). */
export const FOCUS_CSV: CsvList = {
  name: 'focus',
  amounts: AMOUNTS,
  columns: [
    ...['BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingAccountType', 'BillingCurrency', 'BillingPeriodEnd'],
    ...[
      'BillingPeriodStart',
      'ChargeCategory',
      'ChargeClass',
      'ChargeDescription',
      'ChargeFrequency',
      'ChargePeriodEnd',
      'ChargePeriodStart',
    ],
    ...['CommitmentDiscountStatus'],
    ...['ConsumedQuantity', 'ConsumedUnit', 'ContractedCost', 'ContractedUnitPrice', 'EffectiveCost', 'InvoiceId', 'InvoiceIssuerName'],
    ...[
      'ListCost',
      'ListUnitPrice',
      'PricingCategory',
      'PricingCurrency',
      'PricingCurrencyContractedUnitPrice',
      'PricingCurrencyEffectiveCost',
    ],
    ...['PricingCurrencyListUnitPrice', 'PricingQuantity', 'PricingUnit', 'ProviderName', 'PublisherName', 'RegionId'],
    ...[
      'RegionName',
      'ResourceId',
      'ResourceName',
      'ResourceType',
      'ServiceCategory',
      'ServiceName',
      'ServiceSubcategory',
      'SkuId',
      'SkuMeter',
    ],
    ...['SkuPriceDetails', 'SkuPriceId', 'SubAccountId', 'SubAccountName', 'SubAccountType', 'Tags'],
    ...['x_Actor', 'x_ApiKeyHash', 'x_ApiKeyName', 'x_EntryId', 'x_EntryKind', 'x_GenerationId', 'x_Reason'],
  ],
}

export interface FocusSource {
  /** Name of the gateway: it issues the charges. */
  readonly brand: string
  /** Keys by their identity in the ledger. */
  readonly keys: ReadonlyMap<string, Pick<ApiKey, 'hash' | 'name' | 'creator' | 'tags'>>
  /** Names of organisations, workspaces and members. */
  readonly levels?: Pick<LevelTree, 'get'> | undefined
}

/** Rows of a settled generation; none of one that has cost nothing. @throws SyntaxError where the facts are broken. */
export function focusRows(record: GenerationRecord, source: FocusSource): JsonObject[] {
  const { hold } = record
  const facts = parseFacts(record.settled)
  const model = textOr(facts.model, hold.model)
  const endpoint = textOr(facts.endpoint, hold.endpoint)
  const shared = {
    ...periods(record.at, record.at),
    ...subAccount(hold, source),
    ...account(source),
    ...service(textOr(facts.provider, source.brand), source.brand),
    ...{ ResourceId: endpoint, ResourceName: model, ResourceType: 'Model endpoint' },
    Tags: tagText({ app: facts.app_title, session: facts.session_id, user: facts.user }, hold.key, source),
    ...{ ChargeClass: null, x_GenerationId: record.id },
  }
  return moneyLines(record).flatMap((line) => {
    const nano = Number(line.nano)
    if (nano === 0 && line.units === null) return []
    const isGiven = line.item === 'unrecovered'
    if (isGiven || nano < 0) return [{ ...shared, ...given(nano, isGiven), ChargeDescription: isGiven ? UNRECOVERED : ADJUSTED }]
    return [{ ...shared, ...usage(line, nano, textOr(line.model, model)) }]
  })
}

const UNRECOVERED = 'Usage beyond what the limits of the key could pay'
const ADJUSTED = 'Difference between the parts of a charge and the charge'

/** The row of an entry: charged or given back in the month in which it was made, for the hour in which it counts. */
export function focusEntryRow(entry: LedgerEntry, source: FocusSource): JsonObject {
  const { kind, at, countedAt, key, provider, id, actor, reason } = entry
  const about = countedAt > 0 ? countedAt : at
  const nano = movedBy(entry)
  return {
    ...periods(about, at),
    ...subAccount(entry, source),
    ...account(source),
    ...service(provider || source.brand, source.brand),
    ...{ ResourceId: null, ResourceName: null, ResourceType: null },
    Tags: tagText({}, key, source),
    ...given(nano, kind === 'refund'),
    // FOCUS 1.2, Charge Class: of a correction to a billing period that was invoiced before.
    ChargeClass: monthStart(about) < monthStart(at) ? 'Correction' : null,
    ChargeDescription: ENTRIES[kind] ?? 'Entry of the ledger',
    ...{ x_EntryId: id, x_EntryKind: kind, x_GenerationId: entryGeneration(entry), x_Actor: actor, x_Reason: reason },
  }
}

const ENTRIES: Readonly<Record<string, string>> = {
  correction: 'Correction by the operator',
  refund: 'Refund by the operator',
  write_off: 'Write-off of usage that was charged to no key',
}

/** @returns columns of a charge that is no usage: without a quantity and a price, all costs are the same (FOCUS 1.2, Contracted Cost). */
function given(nano: number, isCredit: boolean): JsonObject {
  const cost = usdText(nano)
  return {
    ...{ ChargeCategory: isCredit ? 'Credit' : 'Adjustment', ChargeFrequency: 'One-Time', PricingCategory: null },
    ...{ BilledCost: cost, EffectiveCost: cost, ListCost: cost, ContractedCost: cost, PricingCurrencyEffectiveCost: cost },
  }
}

/** Columns of a priced quantity. What has none is one unit at its price. */
function usage({ item, name, units, unit_price: price }: JsonObject, nano: number, model: string): JsonObject {
  const rate = typeof price === 'string' ? rateFromUsd(price) : undefined
  const isPriced = rate !== undefined && typeof units === 'number'
  const [quantity, unitRate] = isPriced ? [units, rate] : [1, BigInt(nano) * 1_000_000_000n]
  const kind = KINDS[String(item)]
  const unit = kind?.unit ?? 'Requests'
  const meter = kind?.meter ?? (name === null || name === undefined ? String(item) : String(name))
  const unitPrice = rateText(unitRate)
  const listed = rateText(BigInt(quantity) * unitRate)
  const sku = `${model}/${item === 'tools' && name ? `tools/${name}` : item}`
  return {
    ...{ ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based', ChargeDescription: `${meter} of ${model}` },
    ...{
      BilledCost: usdText(nano),
      EffectiveCost: usdText(nano),
      PricingCurrencyEffectiveCost: usdText(nano),
      ListCost: listed,
      ContractedCost: listed,
    },
    ...{ PricingCurrencyListUnitPrice: unitPrice, PricingCurrencyContractedUnitPrice: unitPrice },
    ...{
      ListUnitPrice: unitPrice,
      ContractedUnitPrice: unitPrice,
      PricingCategory: 'Standard',
      PricingQuantity: decimal(quantity),
      PricingUnit: unit,
    },
    ...{ ConsumedQuantity: decimal(typeof units === 'number' ? units : 1), ConsumedUnit: unit },
    ...{ SkuId: sku, SkuMeter: meter, SkuPriceId: `${sku}@${unitPrice}`, SkuPriceDetails: null },
  }
}

/** Readers that find the type of a column by its values take whole numbers for integers, where FOCUS has decimals. */
const decimal = (quantity: number): string => `${quantity}.0`

const TOKENS = TOKEN_KINDS.map(({ bill, text }) => [bill, { unit: 'Tokens', meter: capital(text) }] as const)

/** Units and meters of the lines of a charge. */
const KINDS: Readonly<Record<string, { readonly unit: string; readonly meter: string }>> = {
  ...Object.fromEntries(TOKENS),
  request: { unit: 'Requests', meter: 'Requests' },
  image: { unit: 'Images', meter: 'Images' },
  web_search: { unit: 'Searches', meter: 'Web searches' },
  container: { unit: 'Containers', meter: 'Containers' },
  provider_fees: { unit: 'Requests', meter: 'Fees of the provider' },
  providers: { unit: 'Requests', meter: 'Requests' },
  other: { unit: 'Requests', meter: 'Other charges' },
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`
}

const HOUR_MS = 3_600_000

/** Of the charge the hour; of the bill the month. @param about, billed milliseconds since the epoch. */
function periods(about: number, billed: number): JsonObject {
  const hour = Math.floor(about / HOUR_MS) * HOUR_MS
  const month = monthStart(billed)
  const next = new Date(month)
  return {
    ...{ ChargePeriodStart: moment(hour), ChargePeriodEnd: moment(hour + HOUR_MS) },
    ...{ BillingPeriodStart: moment(month), BillingPeriodEnd: moment(Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1, 1)) },
  }
}

function monthStart(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

/** FOCUS 1.2, Date/Time Format: `YYYY-MM-DDTHH:mm:ssZ`. */
const moment = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

/** The nearest account above the key that was charged at the time, or the key. */
function subAccount(
  { key, payer }: { readonly key: string; readonly payer?: string | undefined },
  { keys, levels }: FocusSource,
): JsonObject {
  const found = keys.get(key)
  const hash = found?.hash ?? key
  const name = found?.name ?? `Key ${key.slice(0, 12)}`
  const own = { x_ApiKeyHash: hash, x_ApiKeyName: name }
  const account = readAccount(splitPayers(payer)[0] ?? '')
  if (!account) return { SubAccountId: hash, SubAccountName: name, SubAccountType: 'Key', ...own }
  const { kind, id } = account
  return {
    SubAccountId: accountIdentity(kind, id),
    SubAccountName: accountName(kind, id, levels),
    SubAccountType: ACCOUNT_KINDS[kind].focus,
    ...own,
  }
}

const account = ({ brand }: FocusSource): JsonObject => ({
  ...{
    BillingAccountId: WORKSPACE,
    BillingAccountName: brand,
    BillingAccountType: 'Workspace',
    BillingCurrency: 'USD',
    PricingCurrency: 'USD',
  },
  ...{ InvoiceId: null, InvoiceIssuerName: brand },
})

/** The gateway sells what a provider serves: so it is the provider of these charges, and theirs is the publisher (FOCUS 1.2, Publisher). */
const service = (publisher: string, brand: string): JsonObject => ({
  ...{ ServiceCategory: 'AI and Machine Learning', ServiceSubcategory: 'Generative AI', ServiceName: 'Model inference' },
  ...{ ProviderName: brand, PublisherName: publisher },
  ...{ RegionId: null, RegionName: null },
})

/** All of them are of the gateway's own scheme, so their names have its prefix (FOCUS 1.2, Tags). */
function tagText(tags: Readonly<Record<string, Json | undefined>>, key: string, { keys }: FocusSource): string | null {
  const all = { ...tags, member: keys.get(key)?.creator ?? undefined }
  const ofKey = Object.entries(keys.get(key)?.tags ?? {}).map(([name, value]) => [`tag/${name}`, value] as const)
  const given = [...Object.entries(all), ...ofKey].filter(([, value]) => typeof value === 'string' && value !== '')
  return given.length === 0 ? null : JSON.stringify(Object.fromEntries(given.map(([name, value]) => [`headgate/${name}`, value])))
}

const textOr = (value: Json | undefined, otherwise: string): string => (typeof value === 'string' && value !== '' ? value : otherwise)
