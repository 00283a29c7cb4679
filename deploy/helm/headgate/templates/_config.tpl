{{- define "headgate.example" -}}
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [{ provider: sim, model: echo, price: free }] } }
auth: { keys: [] }
{{- end }}

{{- /* What the chart sets in the configuration. server.host is loopback in a sidecar, whose probes then use the admin port. */}}
{{- define "headgate.config" -}}
{{- $sidecar := eq .Values.mode "sidecar" }}
{{- $server := dict "host" (ternary "127.0.0.1" "0.0.0.0" $sidecar) "port" (int .Values.ports.api) "drain" (printf "%ds" (int .Values.drain)) }}
{{- $admin := dict "host" "0.0.0.0" "port" (int .Values.ports.admin) }}
{{- if not $sidecar }}{{ $_ := set $admin "health_port" (int .Values.ports.health) }}{{ end }}
{{- if .Values.adminToken.secret }}{{ $_ := set $admin "token" "${HEADGATE_ADMIN_TOKEN}" }}{{ end }}
{{- $store := dict }}
{{- if eq .Values.store.type "postgresql" }}
{{- $url := ternary (printf "postgres://headgate:${HEADGATE_POSTGRES_PASSWORD}@%s-postgresql:5432/headgate?sslmode=disable" (include "headgate.fullname" .)) "${HEADGATE_DATABASE}" .Values.bundled.postgresql.enabled }}
{{- $store = dict "url" $url "journal" "/data/journal.db" }}
{{- else if eq .Values.store.type "memory" }}
{{- $store = dict "url" "memory:" }}
{{- else }}
{{- $store = dict "url" "sqlite:/data/headgate.db" }}
{{- end }}
{{- $set := dict "server" $server "admin" $admin "store" $store }}
{{- if .Values.bundled.redis.enabled }}
{{- $_ := set $set "shared" (dict "url" (printf "redis://:${HEADGATE_REDIS_PASSWORD}@%s-redis:6379" (include "headgate.fullname" .)) "tls" "off") }}
{{- else if .Values.redis.secret.name }}
{{- $_ := set $set "shared" (dict "url" "${HEADGATE_REDIS}" "tls" .Values.redis.tls) }}
{{- end }}
{{- toYaml (mustMergeOverwrite (deepCopy (default (fromYaml (include "headgate.example" .)) .Values.config)) $set) }}
{{- end }}

{{- /* One variable from a key of a Secret. */}}
{{- define "headgate.fromSecret" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ (index . 1).name }}
      key: {{ (index . 1).key }}
{{- end }}

{{- define "headgate.env" -}}
{{- if .Values.adminToken.secret }}
{{ include "headgate.fromSecret" (list "HEADGATE_ADMIN_TOKEN" (dict "name" .Values.adminToken.secret "key" .Values.adminToken.key)) }}
{{- end }}
{{- if eq .Values.store.type "postgresql" }}
{{- if .Values.bundled.postgresql.enabled }}
{{ include "headgate.fromSecret" (list "HEADGATE_POSTGRES_PASSWORD" .Values.bundled.postgresql.secret) }}
{{- else }}
{{ include "headgate.fromSecret" (list "HEADGATE_DATABASE" .Values.store.secret) }}
{{- end }}
{{- end }}
{{- if .Values.bundled.redis.enabled }}
{{ include "headgate.fromSecret" (list "HEADGATE_REDIS_PASSWORD" .Values.bundled.redis.secret) }}
{{- else if .Values.redis.secret.name }}
{{ include "headgate.fromSecret" (list "HEADGATE_REDIS" .Values.redis.secret) }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Values that contradict one another. */}}
{{- define "headgate.validate" -}}
{{- if and (ne .Values.store.type "postgresql") (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) }}
{{- fail "replicas above 1 and autoscaling need store.type: postgresql, since each replica would keep a ledger of its own" }}
{{- end }}
{{- if and (eq .Values.store.type "postgresql") (not .Values.bundled.postgresql.enabled) (not .Values.store.secret.name) }}
{{- fail "store.type: postgresql needs store.secret.name, a Secret with the address, or bundled.postgresql.enabled" }}
{{- end }}
{{- range $name, $one := .Values.bundled }}
{{- if and $one.enabled (not $one.secret.name) }}
{{- fail (printf "bundled.%s.enabled needs bundled.%s.secret.name, a Secret with the password in letters and digits" $name $name) }}
{{- end }}
{{- end }}
{{- if and (eq .Values.mode "sidecar") (not .Values.sidecar.containers) }}
{{- fail "mode: sidecar needs sidecar.containers, the containers of your application" }}
{{- end }}
{{- $own := list (list "server" "host") (list "server" "port") (list "server" "drain") (list "admin" "host") (list "admin" "port") (list "admin" "health_port") (list "admin" "token") (list "store" "url") (list "store" "journal") (list "shared" "url") (list "shared" "tls") }}
{{- range $own }}
{{- if hasKey (default dict (index $.Values.config (index . 0))) (index . 1) }}
{{- fail (printf "config.%s.%s is set by the chart: use ports, drain, adminToken, store or redis" (index . 0) (index . 1)) }}
{{- end }}
{{- end }}
{{- end }}
