#!/usr/bin/env bash
# Program: Keycloak 26.7.3 (org.keycloak:keycloak-quarkus-dist of Maven Central), OpenID Connect Back-Channel Logout 1.0.
# Behaviour: a client with a back-channel logout URL is called when a session is ended (the person signs out, an administrator deletes the
#   session or signs the person out). It is not called when an administrator disables the person, resets the password, signs out all sessions of
#   the realm, or deletes the person. A person who is disabled keeps the session in Keycloak, and its refresh token works again once the person
#   is enabled.
# Why a good guess is wrong: back-channel logout is registered so that those who are locked out are out everywhere, and the console shows
#   disabling as the way to lock one out. A test that signs the person out is green.
# A gateway should: keep its own sessions short where it learns of locked accounts by this alone, and tell operators to sign a person out before
#   they disable or delete the account.
set -euo pipefail
folder=$(mktemp -d)
cd "$folder"
trap 'set +e; for each in ${server:-} ${hook:-}; do kill "$each" 2> /dev/null && wait "$each" 2> /dev/null; done; cd /; rm -rf "$folder"' EXIT
mvn -q -B dependency:unpack -Dartifact=org.keycloak:keycloak-quarkus-dist:26.7.3:zip -DoutputDirectory="$folder" > /dev/null
port=$((20000 + RANDOM % 10000))
cat > hook.mjs <<'JS'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
createServer((request, response) => {
  appendFileSync('calls', 'called\n')
  request.resume()
  response.end()
}).listen(Number(process.argv[2]), '127.0.0.1')
JS
: > calls
node hook.mjs $((port + 1)) &
hook=$!
mkdir -p keycloak-26.7.3/data/import
cat > keycloak-26.7.3/data/import/acme-realm.json <<JSON
{ "realm": "acme", "enabled": true, "clients": [
  { "clientId": "app", "secret": "secret", "directAccessGrantsEnabled": true, "redirectUris": ["http://localhost/*"], "attributes":
    { "backchannel.logout.url": "http://127.0.0.1:$((port + 1))/", "backchannel.logout.session.required": "true" } } ],
  "users": [ { "username": "bob", "email": "bob@acme.example", "emailVerified": true, "firstName": "B", "lastName": "B", "enabled": true,
    "credentials": [ { "type": "password", "value": "password" } ] } ] }
JSON
JAVA_OPTS='-Xms64m -Xmx512m' KC_BOOTSTRAP_ADMIN_USERNAME=admin KC_BOOTSTRAP_ADMIN_PASSWORD=admin \
  keycloak-26.7.3/bin/kc.sh start-dev --http-port="$port" --import-realm > log 2>&1 &
server=$!
base="http://localhost:$port"
for _ in $(seq 900); do curl -sf "$base/realms/acme" > /dev/null && break; sleep 1; done
field() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
admin() {
  local token
  token=$(curl -s "$base/realms/master/protocol/openid-connect/token" -d grant_type=password -d client_id=admin-cli -d username=admin -d password=admin | field access_token)
  curl -sf -X "$1" "$base/admin/realms/acme$2" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' ${3:+-d "$3"}
}
sign_in() { curl -s "$base/realms/acme/protocol/openid-connect/token" -d grant_type=password -d client_id=app -d client_secret=secret -d username=bob -d password=password -d scope=openid; }
user=$(admin GET '/users?username=bob' | field id)
# What an administrator does to a person with a session, and how many calls come of it.
calls_after() {
  sign_in > /dev/null
  local before
  before=$(wc -l < calls)
  "${@:2}" > /dev/null
  sleep 2
  local count=$(($(wc -l < calls) - before))
  echo "$1: $count"
}
{
  calls_after 'signed out' admin POST "/users/$user/logout"
  calls_after 'password reset' admin PUT "/users/$user/reset-password" '{"type":"password","value":"password","temporary":false}'
  calls_after 'disabled' admin PUT "/users/$user" '{"enabled":false}'
  admin PUT "/users/$user" '{"enabled":true}'
  calls_after 'all sessions of the realm signed out' admin POST /logout-all
  calls_after 'deleted' admin DELETE "/users/$user"
} | tee found
printf '%s\n' 'signed out: 1' 'password reset: 0' 'disabled: 0' 'all sessions of the realm signed out: 0' 'deleted: 0' > expected
if cmp -s found expected; then echo 'as described above'; else
  echo 'THE BEHAVIOUR HAS CHANGED'
  exit 1
fi
