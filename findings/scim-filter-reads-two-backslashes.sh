#!/usr/bin/env bash
# Package: scim2-parse-filter 0.2.10 (npm), on which scim-patch 0.8.3 builds.
# Behaviour: the value "ACME\\ada" of a filter is read with two backslashes, and one that ends with a backslash is refused. A text without
#   its end takes twice the time with each line end in it.
# Why a good guess is wrong: values are literals of JSON (RFC 7644, 3.4.2.2), in which that text has one backslash. A provisioning service
#   that looks for such a user finds none, and makes it again.
# A gateway should: read the value with JSON.parse, and have no alternative of a pattern that another one covers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --loglevel=error --ignore-scripts scim2-parse-filter@0.2.10 > /dev/null
cat > run.mjs <<'JS'
import filters from 'scim2-parse-filter'

const { compValue } = filters.parse(String.raw`userName eq "ACME\\ada"`)
const time = (count) => {
  const begun = performance.now()
  try {
    filters.parse(`userName eq "${'\n'.repeat(count)}`)
  } catch {}
  return performance.now() - begun
}
time(10)
const [few, many] = [time(18), time(22)]
console.log('backslashes:', compValue.split('\\').length - 1, 'ms for 18 and 22 line ends:', few.toFixed(1), many.toFixed(1))
if (compValue !== 'ACME\\\\ada' || many < few * 4) process.exit(1)
JS
node run.mjs || { echo "the behaviour has changed"; exit 1; }
