/** Faults of public price lists, and headgate's answer to them: the rows of docs/behaviour/price-lists.md, which `npm run generate` writes from here. */
import type { BehaviourRow } from './behaviour-row.ts'

export const PRICE_LIST_ROWS: readonly BehaviourRow[] = [
  {
    who: 'models.dev',
    version: 'November 2026',
    input: 'groq/compound',
    does: '0, where the page states no price of its own',
    makes: '0 is no price, unless a name ends in `:free`',
    tests: [['cli/models-import', '0 is a price that the list does not know, and never one of a hosted model']],
  },
  {
    who: 'LiteLLM',
    version: '1.110.2',
    input: 'Models that write sound or images alone (`lyria-*`), with `mode: chat`; azure/model-router',
    does: 'A price of 0; the fee of the router as if it were a price',
    makes: 'What writes no text is left out, and a fee is no price',
    tests: [
      ['cli/models-import', "what writes no text is left out of LiteLLM's list, whatever its mode says, and a router's fee is no price"],
    ],
  },
  {
    who: 'models.dev',
    version: 'November 2026',
    input: 'Mistral Large 4',
    does: '1.36 and 4.18 USD, as before 29 October; cached input without its discount',
    makes: "The page's 0.70 and 2.10, cached input at a tenth; `models import` shows what differs",
    tests: [
      ['cli/models-import', "where lists disagree, the provider's page is taken, and all of it is shown"],
      ['gateway/money/shipped-prices', 'cached input of Mistral costs a tenth, and Large 4 what its page says since October'],
    ],
  },
  {
    who: 'genai-prices; LiteLLM',
    version: '0.2.3; 1.110.2',
    input: 'DeepSeek on a weekend',
    does: 'The price of the peak, which the page has on working days alone',
    makes: 'Half of it outside of the peak and on such days',
    tests: [['gateway/money/shipped-prices', 'DeepSeek costs half outside of its peak hours, and on days on which there are none']],
  },
]
