/**
 * Spans for a collector, by OTLP over HTTP as JSON. They wait in a bounded queue and leave in the background:
 * when it is full they are dropped, and a collector that is dead or slow costs no request anything. No span
 * carries a URL, a header or a body.
 */
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import type { AnsweredRequest, RequestSpan } from '../http/spans.ts'
import type { TracingConfig } from '../settings/config.ts'
import { type AttemptRecord, nameState } from '../webhooks/engine/attempt-record.ts'
import { printEventId } from '../webhooks/events/event.ts'
import { parseTraceparent, printTraceparent } from './traceparent.ts'
import type { Tracing } from './tracing.ts'

const spansWaitingAtMost = 4_096
const spansAtOnce = 512
const sendEveryMs = 1_000
const exportTimeoutMs = 5_000
/** A whole queue leaves at once at the close, beside what is under way already. */
const exportsAtOnce = 1 + spansWaitingAtMost / spansAtOnce
const closeTimeoutMs = 2_000
const attributeCharactersAtMost = 200

export function openTracing({ url, headers, serviceName, ...config }: TracingConfig, log: Logger): Tracing {
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: exportTimeoutMs,
    concurrencyLimit: exportsAtOnce,
  })
  const queue = new BatchSpanProcessor({
    exporter: complainOnce(exporter, log),
    maxQueueSize: spansWaitingAtMost,
    maxExportBatchSize: spansAtOnce,
    scheduledDelayMillis: sendEveryMs,
    exportTimeoutMillis: 2 * exportTimeoutMs,
  })
  const provider = new TracerProvider({
    sampler: samplerOf(config),
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    spanLimits: { attributeValueLengthLimit: attributeCharactersAtMost },
    spanProcessors: [queue],
  })
  const tracer = provider.getTracer('countersign')
  return {
    openRequest: (environment, name, traceparent) => openRequest(tracer, environment, name, traceparent),
    attempt: (made) => recordAttempt(tracer, made),
    close: () => withinLimit(provider.shutdown()),
  }
}

function samplerOf({ sampler, sampledShare }: Pick<TracingConfig, 'sampler' | 'sampledShare'>): Sampler {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(sampledShare)
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/** Says once that spans do not arrive, and once that they do again. */
function complainOnce(exporter: SpanExporter, log: Logger): SpanExporter {
  let failing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result
        if (error && !failing) log.warn({ why: error.message }, 'traces do not reach their collector')
        if (!error && failing) log.info('traces reach their collector again')
        failing = error !== undefined
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

function openRequest(
  tracer: Tracer,
  environment: string,
  name: string,
  traceparent: string | undefined,
): RequestSpan {
  const attributes = { 'countersign.environment': environment }
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, contextOf(traceparent))
  const context = span.spanContext()
  return {
    traceId: context.traceId,
    traceparent: printTraceparent(context),
    end(answered) {
      span.setAttributes(describeRequest(answered))
      if (answered.status !== undefined && answered.status >= 500)
        span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/** Attributes that are undefined are left out. */
function describeRequest({ method, route, requestId, status, refusal, who }: AnsweredRequest) {
  return {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'error.type': refusal,
    'countersign.request': requestId,
    'countersign.client': who?.clientId,
    'countersign.branch': who?.branchId,
    'countersign.user': who?.userId,
    'countersign.service': who?.serviceId,
  }
}

function recordAttempt(tracer: Tracer, attempt: AttemptRecord): void {
  const { delivery, outcome, startedMs, timing } = attempt
  const attributes = {
    'countersign.delivery': delivery.id,
    'countersign.event': printEventId(delivery.event.uid),
    'countersign.webhook': delivery.webhookId,
    'countersign.branch': delivery.branchId,
    'countersign.attempt': delivery.attempt,
    'countersign.outcome': outcome.kind,
    'countersign.state': nameState(attempt),
    ...(outcome.kind === 'unreachable'
      ? { 'error.type': outcome.why }
      : { 'http.response.status_code': outcome.status }),
  }
  const options = { kind: SpanKind.CLIENT, startTime: instantOf(startedMs), attributes }
  const span = tracer.startSpan('attempt', options, contextOf(delivery.event.traceparent ?? undefined))
  if (outcome.kind !== 'accepted') span.setStatus({ code: SpanStatusCode.ERROR })
  span.end(instantOf(startedMs + timing.totalMs))
}

function contextOf(traceparent: string | undefined): Context {
  const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent)
  return parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
}

/** On the real clock, from `performance.now()`. */
function instantOf(ms: number): number {
  return performance.timeOrigin + ms
}

async function withinLimit(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((passed) => {
    timer = setTimeout(passed, closeTimeoutMs)
  })
  await Promise.race([work.catch(() => {}), limit])
  clearTimeout(timer)
}
