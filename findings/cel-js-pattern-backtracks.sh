#!/usr/bin/env bash
# Package: @marcbachmann/cel-js 8.0.0 (npm).
# Behaviour: `"aaaa…".matches("(a+)+$")` in an expression of CEL runs `new RegExp`, which backtracks: a text of 30 letters takes seconds, one of 40
#   hours. The function cannot be replaced: registering it again throws, since the signatures overlap.
# Why a good guess is wrong: CEL has RE2 as its language of patterns, so that an expression always ends soon (cel-spec, doc/langdef.md,
#   "Regular Expressions"), and the page of the package says that CEL is for safety.
# A gateway should: have `matches` call a function of its own with a linear search, by renaming the call in the parsed expression, and take
#   patterns that stand in the expression alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @marcbachmann/cel-js@8.0.0
cat > finding.mjs <<'JS'
import { Environment } from '@marcbachmann/cel-js'

const time = (letters) => {
  const condition = new Environment().registerVariable('text', 'string').parse('text.matches("(a+)+$")')
  const before = process.cpuUsage()
  condition({ text: `${'a'.repeat(letters)}!` })
  return process.cpuUsage(before).user / 1000
}
time(10)
const [short, long] = [time(18), time(25)]
console.log(`18 letters ${short.toFixed(1)} ms, 25 letters ${long.toFixed(1)} ms`)
if (long < 10 * short) throw new Error('the behaviour has changed')
let refused = ''
try {
  new Environment().registerFunction('string.matches(string): bool', () => false)
} catch (error) {
  refused = error.message
}
if (!/overlaps/.test(refused)) throw new Error('the behaviour has changed')
JS
node finding.mjs
