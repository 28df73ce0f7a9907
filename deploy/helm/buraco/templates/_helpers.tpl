{{/* Names, labels, and what several manifests have in common. */}}

{{- define "buraco.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* 50 characters leave room for the longest ending that is added here, and for the pods' own. */}}
{{- define "buraco.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "buraco.serviceAccountName" -}}
{{- default (ternary (include "buraco.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "buraco.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "buraco.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels that never change in the life of a Deployment. */}}
{{- define "buraco.selector.server" -}}
app.kubernetes.io/name: {{ include "buraco.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "buraco.selector.fleet" -}}
app.kubernetes.io/name: {{ include "buraco.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: fleet
{{- end }}

{{- define "buraco.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "buraco.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "buraco.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "buraco.storePort" -}}
{{- if .Values.store.port }}{{ .Values.store.port }}{{ else }}{{ ternary 5432 6379 (eq .Values.store.kind "postgresql") }}{{ end }}
{{- end }}

{{/* A probe by the native gRPC of the kubelet. That has no TLS: there the probe is the ready file, which the service keeps
while it serves and removes when it stops. */}}
{{- define "buraco.readyProbe" -}}
{{- if eq .Values.tls.mode "off" -}}
grpc:
  port: {{ .Values.service.port }}
  service: buraco.v1.TableService
{{- else -}}
exec:
  command: [test, -f, /run/buraco/ready.json]
{{- end }}
{{- end }}

{{- define "buraco.liveProbe" -}}
{{- if eq .Values.tls.mode "off" -}}
grpc:
  port: {{ .Values.service.port }}
{{- else -}}
tcpSocket:
  port: grpc
{{- end }}
{{- end }}

{{/* The probe of the fleet at a path. */}}
{{- define "buraco.fleetProbe" -}}
httpGet:
  path: {{ . }}
  port: metrics
{{- end }}

{{/* Checks for which the schema of the values has no helpful message. */}}
{{- define "buraco.checks" -}}
{{- $values := .Values }}
{{- if eq $values.store.kind "sqlite" }}
  {{- if or (gt (int $values.replicas) 1) $values.autoscaling.enabled }}
    {{- fail "store.kind sqlite is one file for one replica: set replicas to 1 and autoscaling.enabled to false" }}
  {{- end }}
  {{- if $values.podDisruptionBudget.enabled }}
    {{- fail "store.kind sqlite has one replica, which no budget can keep up: set podDisruptionBudget.enabled to false" }}
  {{- end }}
{{- else if not $values.store.existingSecret }}
  {{- fail (printf "store.kind %s needs store.existingSecret, the Secret with the store's URL" $values.store.kind) }}
{{- end }}
{{- if not $values.signingKeys.existingSecret }}
  {{- if eq $values.mode "production" }}
    {{- fail "mode production needs signingKeys.existingSecret, the Secret with the keys of the seat tokens" }}
  {{- else if or (gt (int $values.replicas) 1) $values.autoscaling.enabled }}
    {{- fail "several replicas need signingKeys.existingSecret: each would make a key that the others do not know" }}
  {{- end }}
{{- end }}
{{- if ne $values.tls.mode "off" }}
  {{- if not $values.tls.existingSecret }}
    {{- fail (printf "tls.mode %s needs tls.existingSecret, a Secret of type kubernetes.io/tls" $values.tls.mode) }}
  {{- end }}
  {{- if and (eq $values.tls.mode "mtls") (not $values.tls.clientCa.existingSecret) }}
    {{- fail "tls.mode mtls needs tls.clientCa.existingSecret, the Secret with the authorities of client certificates" }}
  {{- end }}
  {{- if and (eq $values.tls.mode "mtls") $values.fleet.enabled (not $values.fleet.tls.clientSecret) }}
    {{- fail "with tls.mode mtls the fleet needs fleet.tls.clientSecret, a certificate of its own" }}
  {{- end }}
{{- end }}
{{- if and $values.metrics.prometheusRule.enabled (not $values.metrics.prometheusRule.rules) }}
  {{- fail "metrics.prometheusRule needs --set-file metrics.prometheusRule.rules=deploy/prometheus/rules.yml" }}
{{- end }}
{{- if gt (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas) }}
  {{- fail "autoscaling.minReplicas is more than autoscaling.maxReplicas" }}
{{- end }}
{{- end }}

{{- define "buraco.dnsEgress" -}}
- ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
{{- end }}
