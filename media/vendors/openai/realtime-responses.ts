import { MAX_CALLS } from '../../agent/tools/given-arguments.js'
import { toVendorFailure } from '../../agent/tts/synthesis.js'
import type { Cancellable, SpokenReplyEvents, VendorFailure } from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import { isRecord } from '../shared/json.js'
import type { RealtimeAudio } from './realtime-audio.js'
import { type RealtimeMessage, realtimeError, toolCallsOf, usageOf } from './realtime-messages.js'

/**
 * Time (ms) after which a cancelled response no longer blocks the next one, even if its end was never
 * reported.
 */
const CANCEL_TIMEOUT_MS = 1500
/** Retry delay (ms) when the vendor reports another active response without naming it. */
const BUSY_RETRY_MS = 500

interface Job {
  readonly ref: string
  /** The response is part of the conversation, where one runs at a time. */
  readonly inBand: boolean
  readonly body: RealtimeMessage
  readonly events: SpokenReplyEvents
  readonly decoders: Map<string, (bytes: Uint8Array) => Int16Array>
  /** Finished items that call a tool. Some compatible servers leave them out of the final event. */
  readonly toolItems: unknown[]
  state: 'queued' | 'sent' | 'over'
  id: string | null
  cancelled: boolean
  timer: Timer | null
}

const AUDIO_DELTA = 'response.output_audio.delta'
const BETA_AUDIO_DELTA = 'response.audio.delta'

/** Returns true for a message whose `delta` is audio. */
export function isAudioDelta({ type }: RealtimeMessage): boolean {
  return type === AUDIO_DELTA || type === BETA_AUDIO_DELTA
}

/**
 * Responses of one connection. The vendor runs one response in the conversation and any number outside it,
 * may start some on its own, and interleaves the messages of all of them.
 */
export class RealtimeResponses {
  readonly #send: (message: RealtimeMessage) => void
  readonly #audioFormat: RealtimeAudio
  readonly #clock: Clock
  readonly #jobs = new Map<string, Job>()
  /** Responses the vendor started on its own; they occupy the conversation until they are done. */
  readonly #foreign = new Set<string>()
  #retry: Timer | null = null
  #lastRef = 0

  constructor(options: {
    send(message: RealtimeMessage): void
    readonly audioFormat: RealtimeAudio
    readonly clock: Clock
  }) {
    this.#send = options.send
    this.#audioFormat = options.audioFormat
    this.#clock = options.clock
  }

  begin(body: RealtimeMessage, inBand: boolean, events: SpokenReplyEvents): Cancellable {
    const ref = `r${++this.#lastRef}`
    const job: Job = {
      ref,
      inBand,
      body: { ...body, metadata: { ref } },
      events,
      decoders: new Map(),
      toolItems: [],
      state: 'queued',
      id: null,
      cancelled: false,
      timer: null,
    }
    this.#jobs.set(ref, job)
    this.#pump()
    return { cancel: () => this.#cancel(job) }
  }

  /** Fails all pending responses, because the connection is gone. */
  fail(error: VendorFailure): void {
    const jobs = [...this.#jobs.values()]
    this.close()
    for (const { cancelled, events } of jobs) if (!cancelled) events.failed(error)
  }

  close(): void {
    this.#retry?.cancel()
    for (const job of this.#jobs.values()) job.timer?.cancel()
    this.#jobs.clear()
  }

  /** Reads a message that belongs to a response; returns false for any other message. `audio` is that of its `delta`. */
  read(message: RealtimeMessage, audio: Uint8Array | null): boolean {
    switch (message.type) {
      case 'response.created':
        if (isRecord(message.response)) this.#created(message.response)
        return true
      // The second name of each pair is that of the beta protocol, which compatible servers keep.
      case AUDIO_DELTA:
      case BETA_AUDIO_DELTA:
        this.#audio(message, audio)
        return true
      case 'response.output_audio_transcript.delta':
      case 'response.audio_transcript.delta':
        this.#words(message)
        return true
      case 'response.function_call_arguments.delta':
      case 'response.output_item.added':
        this.#find(message.response_id)?.events.progress()
        return true
      case 'response.output_item.done':
        this.#itemDone(message)
        return true
      case 'response.done':
        if (isRecord(message.response)) this.#done(message.response)
        return true
      default:
        return typeof message.type === 'string' && message.type.startsWith('response.')
    }
  }

  /** Handles an error that names the request of a response; returns false when it is not one of ours. */
  rejected(eventId: string, error: RealtimeMessage): boolean {
    const job = this.#jobs.get(eventId)
    if (job === undefined) return false
    if (error.code === 'conversation_already_has_active_response') {
      job.state = 'queued'
      job.id = null
      this.#retry?.cancel()
      this.#retry = this.#clock.after(BUSY_RETRY_MS, () => {
        this.#retry = null
        this.#pump()
      })
      return true
    }
    this.#finish(job)
    if (!job.cancelled) job.events.failed(realtimeError(error, 'the vendor refused to answer'))
    this.#pump()
    return true
  }

  /** Sends every request outside the conversation, and the oldest one in it when the conversation is free. */
  #pump(): void {
    for (const job of this.#jobs.values()) {
      if (job.state === 'queued' && (!job.inBand || this.#mayAnswer(job))) {
        job.state = 'sent'
        this.#send({ type: 'response.create', event_id: job.ref, response: job.body })
      }
    }
  }

  #mayAnswer(next: Job): boolean {
    if (this.#foreign.size > 0 || this.#retry !== null) return false
    for (const job of this.#jobs.values()) {
      if (job === next) return true
      if (job.inBand) return false
    }
    return false
  }

  #cancel(job: Job): void {
    if (job.cancelled || !this.#jobs.has(job.ref)) return
    job.cancelled = true
    if (job.state === 'queued') {
      this.#finish(job)
      this.#pump()
      return
    }
    // Without an id there is nothing to cancel yet; `#created` does it.
    if (job.id !== null) this.#sendCancel(job.id)
    job.timer = this.#clock.after(CANCEL_TIMEOUT_MS, () => {
      this.#finish(job)
      this.#pump()
    })
  }

  #sendCancel(id: string): void {
    this.#send({ type: 'response.cancel', response_id: id })
  }

  #created({ id, metadata }: RealtimeMessage): void {
    if (typeof id !== 'string') return
    const job = this.#ordered(metadata)
    if (job === undefined) {
      this.#foreign.add(id)
      this.#sendCancel(id)
      return
    }
    job.id = id
    if (job.cancelled) this.#sendCancel(id)
  }

  /**
   * Finds the job of a response. A server without metadata support does not return the reference; then it is
   * the oldest job without an id.
   */
  #ordered(metadata: unknown): Job | undefined {
    if (isRecord(metadata)) return this.#jobs.get(String(metadata.ref))
    if (metadata !== undefined) return undefined
    for (const job of this.#jobs.values()) if (job.state === 'sent' && job.id === null) return job
    return undefined
  }

  #audio({ response_id, item_id, delta }: RealtimeMessage, audio: Uint8Array | null): void {
    const job = this.#find(response_id)
    if (job === undefined || typeof delta !== 'string' || typeof item_id !== 'string') return
    let decode = job.decoders.get(item_id)
    if (decode === undefined) {
      decode = this.#audioFormat.decoder()
      job.decoders.set(item_id, decode)
    }
    const pcm = decode(audio ?? Buffer.from(delta, 'base64'))
    if (pcm.length > 0) job.events.audio(item_id, pcm, this.#audioFormat.rate)
  }

  #words({ response_id, item_id, delta }: RealtimeMessage): void {
    if (typeof delta !== 'string' || typeof item_id !== 'string') return
    this.#find(response_id)?.events.words(item_id, delta)
  }

  #itemDone({ response_id, item }: RealtimeMessage): void {
    const job = this.#find(response_id)
    if (job === undefined || !isToolItem(item)) return
    if (job.toolItems.length <= MAX_CALLS) job.toolItems.push(item)
  }

  #done({ id, status, status_details, output, usage }: RealtimeMessage): void {
    if (typeof id === 'string' && this.#foreign.delete(id)) {
      // This response blocked the conversation.
      this.#retry?.cancel()
      this.#retry = null
      this.#pump()
      return
    }
    const job = [...this.#jobs.values()].find((job) => job.id === id)
    if (job === undefined) return
    this.#finish(job)
    const items = Array.isArray(output) && output.some(isToolItem) ? output : job.toolItems
    if (!job.cancelled) reportEnd(job.events, { status, status_details, output: items, usage })
    this.#pump()
  }

  /** Finds a job; messages of cancelled jobs still arrive for a while and are ignored. */
  #find(id: unknown): Job | undefined {
    for (const job of this.#jobs.values()) if (job.id !== null && job.id === id && !job.cancelled) return job
    return undefined
  }

  #finish(job: Job): void {
    job.state = 'over'
    job.timer?.cancel()
    this.#jobs.delete(job.ref)
  }
}

function isToolItem(item: unknown): boolean {
  return isRecord(item) && item.type === 'function_call'
}

function reportEnd(
  events: SpokenReplyEvents,
  { status, status_details, output, usage }: RealtimeMessage,
): void {
  if (status === 'failed') {
    events.failed(
      realtimeError(isRecord(status_details) ? status_details.error : null, 'the response failed'),
    )
    return
  }
  if (status === 'cancelled') {
    events.failed(new EngineError('vendor_failed', 'the vendor cancelled its response', { retryable: true }))
    return
  }
  try {
    // An `incomplete` response is valid up to the point where the vendor stopped it.
    events.done(toolCallsOf(output), usageOf(usage))
  } catch (error) {
    events.failed(toVendorFailure(error))
  }
}
