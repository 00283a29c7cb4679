/** Cost of one request, line by line: counts, prices, and the part of the hold that was given back. */
import type { ComponentChildren } from 'preact'
import { Money } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { plainWord, wordMeaning } from '../words.ts'
import type { MoneyLine, RequestDetail } from './requests-types.ts'

const ITEMS: Readonly<Record<string, string>> = {
  prompt: 'Tokens in',
  completion: 'Tokens out',
  cached: 'Tokens read from a cache',
  cache_write: 'Tokens written to a cache',
  cache_write_long: 'Tokens written to a cache for an hour',
  reasoning: 'Tokens of reasoning',
  audio: 'Audio in, tokens',
  audio_output: 'Audio out, tokens',
  image: 'Images in',
  image_input: 'Images in, tokens',
  image_output: 'Images out, tokens',
  request: 'Requests',
  web_search: 'Searches of the provider',
  container: 'Containers, GB',
  provider_fees: 'Fees of the provider',
  providers: 'Calls of models',
  tools: 'Tools of the gateway',
  unrecovered: 'Beyond the limit, not charged',
  other: 'Other',
}

/** Kinds that are no tokens have a price for each. */
const EACH: ReadonlySet<string> = new Set([
  'image',
  'request',
  'web_search',
  'container',
  'provider_fees',
  'tools',
  'code_interpreter',
  'file_search',
  'x_search',
  'document_search',
])

export function Charges({ request }: { request: RequestDetail }) {
  const {
    money,
    usage,
    held,
    reservation,
    status,
    estimated,
    price_unknown: isUnknown,
    cache_discount: saved,
    charge_reason: reason,
  } = request
  const isOpen = status === 'open'
  const beyond = reservation?.beyond_hold.usd ?? 0
  return (
    <>
      <table class="lines">
        <caption class="hidden">The charge, line by line</caption>
        <tbody>
          {(reservation?.held ?? [{ usd: held }]).map(({ usd }, index) => (
            <Line key={index} name={index === 0 ? 'Held before the call' : 'Held in addition'}>
              <Money usd={usd} />
            </Line>
          ))}
          {money.map((line, index) => (
            <Line key={index} name={wordMeaning(ITEMS, line.item) ?? plainWord(line.item)} detail={quantity(line)}>
              <Money usd={line.usd} />
            </Line>
          ))}
          {!!saved && (
            <Line name={saved > 0 ? 'Saved by the cache (in the above)' : 'Added for the cache (in the above)'}>
              <Money usd={saved} />
            </Line>
          )}
          {!isOpen && (
            <Line name="Given back">
              <Money usd={reservation?.released.usd ?? Math.max(0, held - usage)} />
            </Line>
          )}
          {beyond > 0 && (
            <Line name="Charged beyond the hold">
              <Money usd={beyond} />
            </Line>
          )}
        </tbody>
        <tfoot>
          <Line name={isOpen ? 'Charged so far' : 'Charged'}>
            <Money usd={usage} />
          </Line>
        </tfoot>
      </table>
      {reason && (
        <p class="quiet note-line">
          Why this much: <code>{reason}</code>
        </p>
      )}
      {estimated && <p class="note-line">The provider reported no use: the tokens are estimated.</p>}
      {isUnknown && <p class="note-line">The endpoint has no price, so that nothing is charged for its tokens.</p>}
    </>
  )
}

/** Such as `1,200 × $2.50 per million, acme/large`. */
function quantity({ item, name, model, units, unit_price: price }: MoneyLine): string | undefined {
  const count = units == null ? undefined : formatCount(units)
  const at = price == null ? undefined : EACH.has(item) ? `$${price} each` : `$${perMillion(price)} per million`
  const calls = item === 'tools' && units != null ? `${count} ${units === 1 ? 'call' : 'calls'}` : undefined
  const parts = [calls ?? (count && at ? `${count} × ${at}` : count), name, model]
  return parts.filter(Boolean).join(', ') || undefined
}

/** By its digits, since a price has more of them than a number keeps. */
function perMillion(price: string): string {
  const [whole = '0', fraction = ''] = price.split('.')
  const digits = `${whole}${fraction.padEnd(6, '0').slice(0, 6)}`.replace(/^0+(?=\d)/, '')
  const rest = fraction.slice(6).replace(/0+$/, '')
  return rest === '' ? `${digits}.00` : `${digits}.${rest.padEnd(2, '0')}`
}

export function Line({ name, detail, children }: { name: string; detail?: string | undefined; children: ComponentChildren }) {
  return (
    <tr>
      <th scope="row">
        {name}
        {detail && <span class="under">{detail}</span>}
      </th>
      <td class="right">{children}</td>
    </tr>
  )
}
