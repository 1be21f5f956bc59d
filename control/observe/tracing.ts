import type { RtpStats } from '../../media/rtp/stats.js'
import type { Ending } from '../../signalling/call/ending.js'

/** A request, told when it is over. */
export interface RequestSpan {
  readonly requestId: string
  readonly method: string
  /** Operation id; null when no operation answers there. */
  readonly operation: string | null
  /** The pattern of the path, not the address. */
  readonly route: string | null
  readonly status: number
  /** Unix ms. */
  readonly startedAt: number
  readonly ms: number
  /** W3C `traceparent` of the client. */
  readonly traceparent: string | null
}

/** A call, told when it is over. Times are Unix ms. */
export interface CallSpan {
  readonly callId: string
  readonly startedAt: number
  readonly endedAt: number
  readonly events: readonly { readonly name: string; readonly at: number }[]
  readonly ending: Ending
  readonly rtp: RtpStats | null
}

/** One span per request and one per call. */
export interface Tracing {
  request(seen: RequestSpan): void
  call(seen: CallSpan): void
  /** Sends what is waiting. */
  close(): Promise<void>
}

const FLUSH_MS = 5_000

/**
 * Traces to an OTLP collector (HTTP). The SDK is loaded here and only here, so that a service
 * without a collector does not carry it.
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
    request(seen) {
      const parent = parseTraceparent(seen.traceparent)
      const context =
        parent === null
          ? api.ROOT_CONTEXT
          : api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true })
      const span = tracer.startSpan(
        `${seen.method} ${seen.route ?? ''}`.trim(),
        {
          kind: api.SpanKind.SERVER,
          startTime: seen.startedAt,
          attributes: {
            'http.request.method': seen.method,
            'http.response.status_code': seen.status,
            'parley.request_id': seen.requestId,
            ...(seen.route === null ? {} : { 'http.route': seen.route }),
            ...(seen.operation === null ? {} : { 'parley.operation': seen.operation }),
          },
        },
        context,
      )
      if (seen.status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end(seen.startedAt + seen.ms)
    },
    call(seen) {
      const { by, cause, fault, sip } = seen.ending
      const span = tracer.startSpan(
        'call',
        {
          startTime: seen.startedAt,
          attributes: {
            'parley.call_id': seen.callId,
            'parley.ended_by': by,
            'parley.cause': cause,
            'parley.fault': fault,
            ...(sip === undefined ? {} : { 'parley.sip_status': sip }),
            ...mediaAttributes(seen.rtp),
          },
        },
        api.ROOT_CONTEXT,
      )
      for (const { name, at } of seen.events) span.addEvent(name, at)
      if (fault === 'ours') span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end(seen.endedAt)
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

/** https://www.w3.org/TR/trace-context: version, trace id, parent id, flags; null for anything else. */
export function parseTraceparent(
  header: string | null,
): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number } | null {
  const parts = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header ?? '')
  const [, traceId = '', spanId = '', flags = ''] = parts ?? []
  if (parts === null || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}
