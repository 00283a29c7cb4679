#!/usr/bin/env bash
# Package: robots-parser 3.0.1 (npm).
# Behaviour: a line that is neither a name nor a rule (Sitemap, Crawl-delay, Host, Content-Signal) between two lines User-agent ends
#   the group of the first one. What the rules behind it disallow is then allowed for that first name, * included.
# Why a good guess is wrong: RFC 9309 says that "parsing of other records MUST NOT interfere with the parsing of explicitly defined
#   records" (section 2.2.4), and with the line in front of both names, or behind the rules, the package does as the RFC says.
# A gateway should: hand the package the lines User-agent, Allow and Disallow alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --loglevel=error robots-parser@3.0.1 > /dev/null
cat > run.mjs <<'JS'
import robotsParser from 'robots-parser'

const SITE = 'https://example.test'
const allowed = (between) =>
  robotsParser(`${SITE}/robots.txt`, `User-agent: *\n${between}User-agent: Other\nDisallow: /closed\n`).isAllowed(`${SITE}/closed`, 'Any')

const plain = allowed('')
const others = ['Sitemap: https://example.test/map.xml\n', 'Crawl-delay: 5\n', 'Content-Signal: ai-train=no\n'].map(allowed)
console.log('without another line:', plain, 'with one:', others.join(' '))
if (plain !== false || others.includes(false)) process.exit(1)
JS
node run.mjs || { echo "the behaviour has changed"; exit 1; }
