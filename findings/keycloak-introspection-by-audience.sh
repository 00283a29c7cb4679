#!/usr/bin/env bash
# Program: Keycloak 26.7.3 (org.keycloak:keycloak-quarkus-dist of Maven Central), its introspection endpoint (RFC 7662).
# Behaviour: it answers {"active":false} about a token that is valid, with 200, to a client with the right secret, unless the client's id is in
#   the claim `aud` of the token; to the very client that the token was issued to as well. The reason stands in Keycloak's log alone. An audience
#   mapper with a custom audience of another name, which is all that a verifier of JWTs needs, does not help.
# Why a good guess is wrong: RFC 7662, 4 lets a server refuse protected resources, but elsewhere any confidential client may introspect, and
#   "active: false" is read as "expired or revoked": one looks at clocks, sessions and revocation, and the same token verifies by its signature.
# A gateway should: say beside its setting of introspection that the client id has to be an audience of the tokens at Keycloak, so the client
#   for introspection is best named as the audience is; and not take the answer for a proof that the token was revoked.
set -euo pipefail
folder=$(mktemp -d)
cd "$folder"
trap 'set +e; [ -n "${server:-}" ] && kill "$server" 2> /dev/null && wait "$server" 2> /dev/null; cd /; rm -rf "$folder"' EXIT
mvn -q -B dependency:unpack -Dartifact=org.keycloak:keycloak-quarkus-dist:26.7.3:zip -DoutputDirectory="$folder" > /dev/null
cd keycloak-26.7.3
port=$((20000 + RANDOM % 10000))
mkdir -p data/import
cat > data/import/acme-realm.json <<'JSON'
{ "realm": "acme", "enabled": true, "clients": [
  { "clientId": "agent", "secret": "agent-secret", "serviceAccountsEnabled": true, "standardFlowEnabled": false, "protocolMappers": [
    { "name": "audience", "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper",
      "config": { "included.custom.audience": "api", "access.token.claim": "true", "introspection.token.claim": "true" } } ] },
  { "clientId": "gateway", "secret": "gateway-secret", "serviceAccountsEnabled": true, "standardFlowEnabled": false },
  { "clientId": "api", "secret": "api-secret", "serviceAccountsEnabled": true, "standardFlowEnabled": false } ] }
JSON
JAVA_OPTS='-Xms64m -Xmx512m' bin/kc.sh start-dev --http-port="$port" --import-realm > "$folder/log" 2>&1 &
server=$!
oidc="http://localhost:$port/realms/acme/protocol/openid-connect"
for _ in $(seq 900); do curl -sf "http://localhost:$port/realms/acme" > /dev/null && break; sleep 1; done
token=$(curl -s "$oidc/token" -d grant_type=client_credentials -d client_id=agent -d client_secret=agent-secret | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
active() { curl -s -u "$1:$1-secret" "$oidc/token/introspect" -d token="$token" | grep -o '"active":[a-z]*'; }
found="another client $(active gateway), the client of the token $(active agent), the client named as its audience $(active api)"
echo "$found"
grep -o 'reason="[^"]*"' "$folder/log" | sort -u
if [ "$found" = 'another client "active":false, the client of the token "active":false, the client named as its audience "active":true' ]; then
  echo 'as described above'
else
  echo 'THE BEHAVIOUR HAS CHANGED'
  exit 1
fi
