import { performance } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { CallEvent, CallId } from '../../signalling/call/call-events.js'
import { METHODS } from '../../signalling/embedded/message/sip-message.js'
import type { ServerStats } from '../../signalling/embedded/server.js'
import type { WireMessage } from '../../signalling/trace/wire-tap.js'
import { LATENESS_BOUNDS_MS, type WorkerLoad } from '../../workers/channel/protocol.js'
import { MediaMetrics } from './media-metrics.js'
import type { QueueDepth } from './queue-depths.js'
import { SnapshotHistogram } from './snapshot-histogram.js'
import type { CallSpan, RequestSpan, Tracing } from './tracing.js'

/** Result of a webhook attempt: delivered, retried, failed for good, or interrupted by a shutdown. */
export type AttemptOutcome = 'delivered' | 'retry' | 'failed' | 'interrupted'

/** Telemetry of the service: Prometheus metrics, and traces if configured. */
export interface Telemetry {
  /** Records a request that was answered or aborted by its client. */
  request(seen: RequestSpan): void
  /** Records a call event. Events must be passed in order. */
  call(event: CallEvent): void
  /** Records a SIP message that was received or sent. */
  sip(message: WireMessage): void
  /** Records an attempt of a webhook delivery. */
  delivery(outcome: AttemptOutcome, seconds: number): void
  /** Records a database statement. */
  query(seconds: number, failed: boolean): void
  /** Sets the sources that are read when metrics are requested. */
  readFrom(sources: MetricSources): void
  /** Returns all metrics in the Prometheus text format. */
  metrics(): Promise<string>
}

/** Sources that are read when metrics are requested. */
export interface MetricSources {
  load(): Promise<readonly WorkerLoad[]>
  /** Returns the number of call events that are not stored yet, and of those that were lost. */
  callEvents(): { readonly waiting: number; readonly onDisk: number; readonly lost: number }
  /** Tells whether the database is available; see `OpenDatabase`. */
  database(): boolean
  /** Returns the queues of the database by name, or null while it cannot be asked. */
  queues(): Promise<Readonly<Record<string, QueueDepth>> | null>
  /** Returns statistics of the embedded SIP server, or null with an external one. */
  sip(): ServerStats | null
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const QUERY_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5]

/** States of a live call. */
const STATES = ['initiated', 'ringing', 'in_progress'] as const
type State = (typeof STATES)[number]

interface LiveCall {
  state: State
  readonly events: { readonly name: string; readonly at: number }[]
}

/** Event types added to the span of a call. Speech and DTMF digits are not included. */
const SPAN_EVENTS: readonly CallEvent['type'][] = [
  'dialing',
  'ringing',
  'answered',
  'interrupted',
  'trouble',
  'answered_by',
  'agent_took_over',
  'detected',
  'held',
]
/** Maximum events per span. A call of two hours has thousands of turns. */
const MAX_SPAN_EVENTS = 200

/** Opens the metrics. Also opens traces if `tracing` is not null. */
export function openTelemetry(tracing: Tracing | null): Telemetry {
  let sources: MetricSources | null = null
  const registry = new Registry()
  const options = (name: string, help: string, ...labelNames: string[]) => ({
    name,
    help,
    labelNames,
    registers: [registry],
  })
  const counter = (...about: Parameters<typeof options>) => new Counter(options(...about))
  const gauge = (...about: Parameters<typeof options>) => new Gauge(options(...about))
  const histogram = (buckets: number[], ...about: Parameters<typeof options>) =>
    new Histogram({ ...options(...about), buckets })

  const requests = counter(
    'parley_http_requests_total',
    'HTTP requests, by operation and status.',
    'operation',
    'status',
  )
  const seconds = histogram(
    SECONDS,
    'parley_http_request_seconds',
    'Duration of HTTP requests, by operation.',
    'operation',
  )
  const live = gauge('parley_calls', 'Live calls, by state.', 'state')
  const ended = counter(
    'parley_calls_ended_total',
    'Ended calls, by cause and by who is responsible.',
    'cause',
    'fault',
  )
  const troubles = counter('parley_call_troubles_total', 'Failures during live calls, by part.', 'part')
  const interruptions = counter('parley_interruptions_total', 'Interruptions of agents by callers.')
  const sounds = counter('parley_call_sounds_total', 'Detected sounds other than speech, by kind.', 'kind')
  const media = new MediaMetrics(registry)
  const queries = histogram(QUERY_SECONDS, 'parley_db_query_seconds', 'Duration of database statements.')
  const failures = counter('parley_db_query_errors_total', 'Failed database statements.')
  const sessions = gauge('parley_media_sessions', 'Media sessions, by worker.', 'worker')
  const lateness = new SnapshotHistogram({
    name: 'parley_media_beat_lateness_seconds',
    help: 'Lateness of the 20 ms frame clock of the media workers. The sum is an upper bound.',
    labelNames: ['worker'],
    buckets: LATENESS_BOUNDS_MS.map((ms) => ms / 1000),
    registry,
  })
  const skipped = gauge(
    'parley_media_skipped_frames',
    'Frames skipped since the start of a worker.',
    'worker',
  )
  const judged = gauge(
    'parley_voice_judgements',
    'Windows judged by the neural voice detector since the start of a worker, and frames it was too late for.',
    'worker',
    'by',
  )
  const pauses = gauge(
    'parley_turn_judgements',
    'Pauses passed to the turn detector since the start of a worker, by outcome.',
    'worker',
    'outcome',
  )
  const waiting = gauge('parley_call_events_waiting', 'Call events that are not stored yet.')
  const onDisk = gauge(
    'parley_call_events_on_disk',
    'Call events on the disk of this machine until the database takes them.',
  )
  const lost = gauge('parley_call_events_lost', 'Call events that could not be stored.')
  const database = gauge(
    'parley_database_available',
    '1 while the database is available (SQLite: also for writing), else 0.',
  )
  const queued = gauge('parley_queue_rows', 'Rows in the queues of the database.', 'queue')
  const oldest = gauge('parley_queue_oldest_seconds', 'Age of the oldest due row, by queue.', 'queue')
  const attempts = counter('parley_webhook_attempts_total', 'Webhook attempts, by outcome.', 'outcome')
  const attemptSeconds = histogram(
    SECONDS,
    'parley_webhook_attempt_seconds',
    'Duration of webhook attempts, by outcome.',
    'outcome',
  )
  const messages = counter(
    'parley_sip_messages_total',
    'SIP messages, by direction and kind.',
    'direction',
    'kind',
  )
  const dialogs = gauge('parley_sip_dialogs', 'Dialogs of the embedded SIP server.')
  const transactions = gauge('parley_sip_transactions', 'Transactions of the embedded SIP server.', 'role')
  const banned = gauge('parley_sip_banned_sources', 'Banned source addresses.')
  const bans = gauge('parley_sip_bans', 'Bans since the start, by offence.', 'offence')
  const unwanted = gauge('parley_sip_unwanted_requests', 'Rejected requests since the start.', 'outcome')
  const memory = gauge('process_resident_memory_bytes', 'Resident memory of the process.')
  const loop = gauge('parley_event_loop_utilization', 'Utilization of the main thread since the last scrape.')
  // Missing without an embedded SIP server. prom-client would render 0.
  for (const metric of [dialogs, banned]) metric.remove()
  const calls = new Map<CallId, LiveCall>()
  let lastUtilization = performance.eventLoopUtilization()

  async function collect(): Promise<void> {
    live.reset()
    for (const state of STATES) {
      live.set({ state }, [...calls.values()].filter((call) => call.state === state).length)
    }
    memory.set(process.memoryUsage.rss())
    const now = performance.eventLoopUtilization()
    loop.set(performance.eventLoopUtilization(now, lastUtilization).utilization)
    lastUtilization = now
    const source = sources
    if (source === null) return
    const events = source.callEvents()
    waiting.set(events.waiting)
    onDisk.set(events.onDisk)
    lost.set(events.lost)
    database.set(source.database() ? 1 : 0)
    for (const metric of [sessions, skipped, queued, oldest]) metric.reset()
    lateness.clear()
    for (const [index, load] of (await source.load()).entries()) {
      const labels = { worker: String(index) }
      sessions.set(labels, load.sessions)
      skipped.set(labels, load.skippedFrames)
      if (load.speechModel !== null) {
        judged.set({ ...labels, by: 'model' }, load.speechModel.windows)
        judged.set({ ...labels, by: 'built_in' }, load.speechModel.fallbackFrames)
      }
      if (load.turnDetector !== null) {
        const { answered, late, refused } = load.turnDetector
        for (const [outcome, count] of Object.entries({ answered, late, refused })) {
          pauses.set({ ...labels, outcome }, count)
        }
      }
      lateness.add(labels, load.histogram, upperSum(load.histogram))
    }
    const server = source.sip()
    if (server !== null) {
      dialogs.set(server.dialogs)
      transactions.set({ role: 'client' }, server.clientTransactions)
      transactions.set({ role: 'server' }, server.serverTransactions)
      banned.set(server.guard.banned)
      for (const [offence, count] of Object.entries(server.guard.bans)) bans.set({ offence }, count)
      unwanted.set({ outcome: 'refused' }, server.guard.refused)
      unwanted.set({ outcome: 'ignored' }, server.guard.ignored)
    }
    // The other metrics are needed most while the database is away.
    for (const [queue, { rows, oldestSeconds }] of Object.entries((await source.queues()) ?? {})) {
      queued.set({ queue }, rows)
      oldest.set({ queue }, oldestSeconds)
    }
  }

  return {
    request(seen) {
      const operation = seen.operation ?? 'none'
      requests.inc({ operation, status: String(seen.status) })
      seconds.observe({ operation }, seen.ms / 1000)
      tracing?.request(seen)
    },
    call(event) {
      const call = calls.get(event.callId) ?? { state: 'initiated', events: [] }
      if (SPAN_EVENTS.includes(event.type) && call.events.length < MAX_SPAN_EVENTS) {
        call.events.push({ name: event.type, at: event.at })
      }
      if (event.type === 'ringing') call.state = 'ringing'
      if (event.type === 'answered') call.state = 'in_progress'
      if (event.type === 'trouble') troubles.inc({ part: event.part })
      if (event.type === 'detected') sounds.inc({ kind: event.event.type })
      if (event.type === 'interrupted') interruptions.inc()
      if (event.type !== 'ended') {
        calls.set(event.callId, call)
        return
      }
      calls.delete(event.callId)
      const { cause, fault } = event.ending
      ended.inc({ cause, fault })
      if (event.rtp !== null) media.legEnded('first', event.rtp)
      for (const { rtp } of event.legs ?? []) media.legEnded('further', rtp)
      const span: CallSpan = {
        callId: event.callId,
        startedAt: call.events[0]?.at ?? event.at,
        endedAt: event.at,
        events: call.events,
        ending: event.ending,
        rtp: event.rtp,
        legs: event.legs ?? [],
      }
      tracing?.call(span)
    },
    sip({ direction, text }) {
      messages.inc({ direction, kind: messageKind(text) })
    },
    delivery(outcome, took) {
      attempts.inc({ outcome })
      attemptSeconds.observe({ outcome }, took)
    },
    query(took, failed) {
      queries.observe(took)
      if (failed) failures.inc()
    },
    readFrom(from) {
      sources = from
    },
    async metrics() {
      await collect()
      return registry.metrics()
    },
  }
}

/**
 * Returns a known SIP method or the class of a status code, so that the number of label values is bounded.
 */
function messageKind(text: string): string {
  const status = /^SIP\/2\.0 ([1-6])\d\d/.exec(text)?.[1]
  if (status !== undefined) return `${status}xx`
  const method = text.slice(0, text.indexOf(' '))
  return METHODS.has(method) ? method : 'other'
}

/** Returns an upper bound of the sum (s): every tick counts as the upper bound of its bin. */
function upperSum(histogram: readonly number[]): number {
  const bounds = [...LATENESS_BOUNDS_MS, LATENESS_BOUNDS_MS.at(-1) ?? 0]
  return histogram.reduce((sum, count, bin) => sum + (count * (bounds[bin] ?? 0)) / 1000, 0)
}
