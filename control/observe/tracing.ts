import type { RtpStats } from '../../media/rtp/stats.js'
import type { Ending } from '../../signalling/call/ending.js'
import type { LegStats } from '../../workers/channel/protocol.js'

/** A finished HTTP request. */
export interface RequestSpan {
  readonly requestId: string
  readonly method: string
  /** Operation id. Null if no operation matches the path. */
  readonly operation: string | null
  /** Route pattern of the path. */
  readonly route: string | null
  readonly status: number
  /** Unix ms. */
  readonly startedAt: number
  readonly ms: number
  /** W3C `traceparent` header of the client. */
  readonly traceparent: string | null
}

/** A finished call. Times are Unix ms. */
export interface CallSpan {
  readonly callId: string
  readonly startedAt: number
  readonly endedAt: number
  readonly events: readonly { readonly name: string; readonly at: number }[]
  readonly ending: Ending
  /** Of the caller's leg. */
  readonly rtp: RtpStats | null
  readonly legs: readonly LegStats[]
}

/** Creates one span per request and one per call. */
export interface Tracing {
  request(finished: RequestSpan): void
  call(finished: CallSpan): void
  /** Sends the pending spans. */
  close(): Promise<void>
}

const FLUSH_MS = 5_000

/**
 * Opens a trace exporter to an OTLP collector (HTTP). The SDK is imported here only, so that services
 * without a collector do not load it.
 */
export async function openTracing(endpoint: string, serviceVersion: string): Promise<Tracing> {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` })
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'parley', 'service.version': serviceVersion }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter, { exportTimeoutMillis: FLUSH_MS })],
  })
  const tracer = provider.getTracer('parley')
  return {
    request(finished) {
      const parent = parseTraceparent(finished.traceparent)
      const context =
        parent === null
          ? api.ROOT_CONTEXT
          : api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true })
      const span = tracer.startSpan(
        `${finished.method} ${finished.route ?? ''}`.trim(),
        {
          kind: api.SpanKind.SERVER,
          startTime: finished.startedAt,
          attributes: {
            'http.request.method': finished.method,
            'http.response.status_code': finished.status,
            'parley.request_id': finished.requestId,
            ...(finished.route === null ? {} : { 'http.route': finished.route }),
            ...(finished.operation === null ? {} : { 'parley.operation': finished.operation }),
          },
        },
        context,
      )
      if (finished.status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end(finished.startedAt + finished.ms)
    },
    call(finished) {
      const { by, cause, fault, sip } = finished.ending
      const span = tracer.startSpan(
        'call',
        {
          startTime: finished.startedAt,
          attributes: {
            'parley.call_id': finished.callId,
            'parley.ended_by': by,
            'parley.cause': cause,
            'parley.fault': fault,
            ...(sip === undefined ? {} : { 'parley.sip_status': sip }),
            ...mediaAttributes(finished.rtp),
          },
        },
        api.ROOT_CONTEXT,
      )
      for (const { name, at } of finished.events) span.addEvent(name, at)
      for (const { leg, rtp } of finished.legs) {
        span.addEvent('leg_ended', { 'parley.leg': leg, ...mediaAttributes(rtp) }, finished.endedAt)
      }
      if (fault === 'ours') span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end(finished.endedAt)
    },
    close: () => provider.shutdown(),
  }
}

function mediaAttributes(rtp: RtpStats | null): Record<string, number> {
  if (rtp === null) return {}
  const { quality } = rtp
  return {
    'parley.rtp.sent': rtp.packetsSent,
    'parley.rtp.received': rtp.packetsReceived,
    'parley.rtp.lost': rtp.lost,
    ...(quality === undefined ? {} : { 'parley.heard.mos': quality.heard.mos }),
    ...(quality?.sent ? { 'parley.sent.mos': quality.sent.mos, 'parley.sent.loss': quality.sent.loss } : {}),
    ...(typeof quality?.rttMs === 'number' ? { 'parley.round_trip_ms': quality.rttMs } : {}),
  }
}

/**
 * Parses a `traceparent` header (https://www.w3.org/TR/trace-context: version, trace id, parent id, flags).
 * Returns null for anything else.
 */
export function parseTraceparent(
  header: string | null,
): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number } | null {
  const parts = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header ?? '')
  const [, traceId = '', spanId = '', flags = ''] = parts ?? []
  if (parts === null || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}
