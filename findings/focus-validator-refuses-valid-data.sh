#!/usr/bin/env bash
# Package: focus-validator 2.2.1 (PyPI) with pyarrow 22.0.0, on Python 3.12, its own rules of FOCUS 1.2 (model 1.2.0.1, --block-download).
# Behaviour: it refuses data that the specification allows, and ends with status 0 all the same.
#   1. `InvoiceId MUST be null` and `InvoiceId MUST NOT be null` have no condition, so one of the two fails for every file.
#   2. A whole number in a column of decimals is refused ("MUST be of type DECIMAL"), though Numeric Format allows "an integer value".
#   3. Rules of ConsumedQuantity read CommitmentDiscountStatus, and fail where that column is absent, though it belongs only to providers that
#      support commitment discounts, and `--applicability-criteria` does not name them.
#   4. PricingCurrencyContractedUnitPrice and its two sisters, which are for providers with price lists and prices in a virtual currency, count as
#      missing where only one of the two is named: `--applicability-criteria PUBLIC_PRICE_LIST_SUPPORTED`.
#   5. It finds its list of currencies in the folder that it was started in, so it runs in the folder of its packages alone; and pyarrow from 23
#      on, which pip takes, needs the NumPy 2 that its own bound below 2 excludes.
# Why a good guess is wrong: a check that ends with status 0 has passed, by the custom of all others; and the official validator of a
#   specification is the last place where one looks for a contradiction to it.
# An exporter should: write decimals with a point, write the columns of 3 and 4 (empty, and in the billing currency), leave InvoiceId empty where
#   there is no invoice, and have its test read the lines of the report: InvoiceId-C-005-C alone may fail.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python=$(ls "$HOME"/.pyenv/versions/3.12.*/bin/python3.12 2> /dev/null | head -1 || true)
"${python:-python3.12}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet focus-validator==2.2.1 pyarrow==22.0.0
cat > "$folder/write.py" <<'PY'
import sys
row = {
    'BilledCost': '0.25', 'BillingAccountId': 'a', 'BillingAccountName': 'A', 'BillingCurrency': 'USD',
    'BillingPeriodEnd': '2026-02-01T00:00:00Z', 'BillingPeriodStart': '2026-01-01T00:00:00Z', 'ChargeCategory': 'Usage', 'ChargeClass': '',
    'ChargeDescription': 'Tokens', 'ChargeFrequency': 'Usage-Based', 'ChargePeriodEnd': '2026-01-05T13:00:00Z',
    'ChargePeriodStart': '2026-01-05T12:00:00Z', 'CommitmentDiscountStatus': '', 'ConsumedQuantity': '1.0', 'ConsumedUnit': 'Tokens',
    'ContractedCost': '0.25', 'EffectiveCost': '0.25', 'InvoiceId': '', 'InvoiceIssuerName': 'A', 'ListCost': '0.25', 'PricingCategory': 'Standard',
    'PricingCurrencyContractedUnitPrice': '0.25', 'PricingCurrencyEffectiveCost': '0.25', 'PricingCurrencyListUnitPrice': '0.25',
    'PricingQuantity': '1.0', 'PricingUnit': 'Tokens', 'ProviderName': 'A', 'PublisherName': 'B', 'ServiceCategory': 'AI and Machine Learning',
    'ServiceName': 'S', 'ServiceSubcategory': 'Generative AI',
}
for change in sys.argv[1:]:
    name, _, value = change.partition('=')
    if value == 'absent': del row[name]
    else: row[name] = value
print(','.join(row)); print(','.join(row.values()))
PY
cd "$folder"/venv/lib/python3.12/site-packages

criteria=USAGE_MEASUREMENT_SUPPORTED

# Names of the rules that fail for a row with changes.
failing() {
  "$folder/venv/bin/python" "$folder/write.py" "$@" > "$folder/data.csv"
  "$folder/venv/bin/focus-validator" --data-file "$folder/data.csv" --validate-version 1.2 --focus-dataset CostAndUsage --block-download \
    --applicability-criteria "$criteria" > "$folder/report.txt" 2>&1 || { cat "$folder/report.txt"; exit 1; }
  grep -o '❌ [A-Za-z]*-[A-Z0-9-]*' "$folder/report.txt" | cut -d' ' -f2 | tr '\n' ' '
}
expect() {
  case " $2 " in *" $1 "*) echo "as described: $1 fails" ;; *) echo "behaviour has changed: $1 does not fail, but: $2"; exit 1 ;; esac
}
valid=$(failing)
[ "$valid" = "InvoiceId-C-005-C " ] || { echo "behaviour has changed: a valid row fails: $valid"; exit 1; }
expect InvoiceId-C-005-C "$valid"
expect InvoiceId-C-004-C "$(failing InvoiceId=2026-01)"
expect ConsumedQuantity-C-001-M "$(failing ConsumedQuantity=1)"
expect ConsumedQuantity-C-006-C "$(failing CommitmentDiscountStatus=absent)"
criteria=USAGE_MEASUREMENT_SUPPORTED,PUBLIC_PRICE_LIST_SUPPORTED
expect CostAndUsage-D-047-C "$(failing PricingCurrencyContractedUnitPrice=absent)"
cd "$folder"
if "$folder/venv/bin/focus-validator" --data-file "$folder/data.csv" --validate-version 1.2 --focus-dataset CostAndUsage --block-download > "$folder/report.txt" 2>&1; then
  echo "behaviour has changed: it runs in any folder"
  exit 1
fi
grep -q currency_codes.csv "$folder/report.txt"
echo "as described: it finds its list of currencies in one folder alone"
