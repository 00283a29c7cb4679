{{- define "headgate.probe" -}}
httpGet:
  path: {{ index . 1 }}
  port: {{ ternary "admin" "health" (eq (index . 0).Values.mode "sidecar") }}
{{- end }}

{{- define "headgate.container" -}}
name: headgate
image: {{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - serve
  - --config
  - /etc/headgate/headgate.yaml
  {{- if .Values.workers }}
  - --workers
  - {{ .Values.workers | quote }}
  {{- end }}
{{- if eq .Values.mode "sidecar" }}
restartPolicy: Always
{{- end }}
workingDir: /data
{{- with include "headgate.env" . | trim }}
env:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.secrets.env }}
envFrom:
  {{- range . }}
  - secretRef:
      name: {{ . }}
  {{- end }}
{{- end }}
ports:
  {{- if eq .Values.mode "gateway" }}
  - name: api
    containerPort: {{ .Values.ports.api }}
  - name: health
    containerPort: {{ .Values.ports.health }}
  {{- end }}
  - name: admin
    containerPort: {{ .Values.ports.admin }}
startupProbe:
  {{- include "headgate.probe" (list . "/healthz") | nindent 2 }}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  {{- include "headgate.probe" (list . "/healthz") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  {{- include "headgate.probe" (list . "/readyz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- if .Values.preStop }}
lifecycle:
  preStop:
    sleep:
      seconds: {{ .Values.preStop }}
{{- end }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - name: config
    mountPath: /etc/headgate
    readOnly: true
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
  {{- if .Values.secrets.files }}
  - name: secrets
    mountPath: /run/secrets/headgate
    readOnly: true
  {{- end }}
  {{- if .Values.identityTokens }}
  - name: identity
    mountPath: /run/secrets/headgate-identity
    readOnly: true
  {{- end }}
{{- end }}

{{- define "headgate.volumes" -}}
- name: config
  configMap:
    name: {{ include "headgate.configMap" . }}
- name: tmp
  emptyDir: {}
{{- if ne (include "headgate.kind" .) "StatefulSet" }}
- name: data
  {{- if and (eq .Values.mode "gateway") (eq .Values.store.type "sqlite") .Values.persistence.enabled }}
  persistentVolumeClaim:
    claimName: {{ default (include "headgate.fullname" .) .Values.persistence.existingClaim }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- with .Values.secrets.files }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range . }}
      - secret:
          name: {{ . }}
      {{- end }}
{{- end }}
{{- with .Values.identityTokens }}
- name: identity
  projected:
    defaultMode: 0440
    sources:
      {{- range . }}
      - serviceAccountToken:
          path: {{ .name }}
          audience: {{ .audience | quote }}
          expirationSeconds: {{ default 3600 .seconds | int64 }}
      {{- end }}
{{- end }}
{{- end }}

{{- define "headgate.pod" -}}
metadata:
  labels:
    {{- include "headgate.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "headgate.serviceAccount" . }}
  automountServiceAccountToken: {{ .Values.serviceAccount.token }}
  enableServiceLinks: false
  # The drain, the pause before it, and 15 s to close the store (docs/operations.md, Drain).
  terminationGracePeriodSeconds: {{ add .Values.drain .Values.preStop 15 }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq .Values.mode "sidecar" }}
  initContainers:
    - {{- include "headgate.container" . | nindent 6 }}
  containers:
    {{- toYaml .Values.sidecar.containers | nindent 4 }}
  {{- else }}
  containers:
    - {{- include "headgate.container" . | nindent 6 }}
  {{- end }}
  volumes:
    {{- include "headgate.volumes" . | nindent 4 }}
    {{- with .Values.sidecar.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.topologySpread }}
  {{- if .enabled }}
  topologySpreadConstraints:
    - topologyKey: {{ .topologyKey }}
      maxSkew: {{ .maxSkew }}
      whenUnsatisfiable: {{ .whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "headgate.selector" $ | nindent 10 }}
  {{- end }}
  {{- end }}
{{- end }}
