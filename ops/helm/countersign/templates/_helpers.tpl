{{- define "countersign.selector" -}}
app.kubernetes.io/name: countersign
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "countersign.labels" -}}
app.kubernetes.io/name: countersign
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "countersign.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "countersign.pod" -}}
automountServiceAccountToken: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Those of the values, and what asks clients for certificates. */ -}}
{{- define "countersign.settings" -}}
{{- $more := dict }}
{{- if .Values.mtls.askedBy }}
{{- $more = dict "MTLS_URL" .Values.mtls.url "SANDBOX_MTLS_URL" .Values.mtls.sandboxUrl }}
{{- if eq .Values.mtls.askedBy "nodes" }}
{{- $_ := set $more "MTLS_PORT" "8443" }}
{{- $_ := set $more "TLS_CERT_FILE" "/etc/countersign/tls/tls.crt" }}
{{- $_ := set $more "TLS_KEY_FILE" "/etc/countersign/tls/tls.key" }}
{{- else }}
{{- $_ := set $more "MTLS_PROXY_HEADER" "true" }}
{{- end }}
{{- if .Values.mtls.authorities }}
{{- $_ := set $more "MTLS_CA_FILE" "/etc/countersign/authorities/ca.crt" }}
{{- end }}
{{- end }}
{{- merge $more .Values.settings | toYaml }}
{{- end }}

{{- define "countersign.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
