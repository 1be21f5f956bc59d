import type { Clock, Timer } from '../../../base/clock.js'
import { EngineError } from '../../../base/errors.js'
import { toVendorFailure } from '../../tts/synthesis.js'
import type { Cancellable, SpokenReplyEvents, VendorFailure } from '../../vendor-ports.js'
import type { RealtimeAudio } from './realtime-audio.js'
import { type RealtimeMessage, realtimeError, toolCallsOf, usageOf } from './realtime-messages.js'
import { isRecord } from './tool-calls.js'

/** A cancelled response that is never reported done does not hold up the next one for longer. */
const CANCEL_MS = 1500
/** The vendor says that another response is active and does not say which. */
const BUSY_MS = 500

interface Job {
  readonly ref: string
  /** Part of the conversation: one at a time. */
  readonly inBand: boolean
  readonly body: RealtimeMessage
  readonly events: SpokenReplyEvents
  readonly decoders: Map<string, (base64: string) => Int16Array>
  state: 'queued' | 'sent' | 'over'
  id: string | null
  cancelled: boolean
  timer: Timer | null
}

/**
 * The responses of one connection. The vendor takes one at a time in the conversation and any number
 * beside it, may begin some that nobody ordered, and reports all of them mixed.
 */
export class RealtimeResponses {
  readonly #send: (message: RealtimeMessage) => void
  readonly #sound: RealtimeAudio
  readonly #clock: Clock
  readonly #jobs = new Map<string, Job>()
  /** Responses that we did not order; the conversation is theirs until they are done. */
  readonly #strangers = new Set<string>()
  #retry: Timer | null = null
  #refs = 0

  constructor(options: {
    send(message: RealtimeMessage): void
    readonly sound: RealtimeAudio
    readonly clock: Clock
  }) {
    this.#send = options.send
    this.#sound = options.sound
    this.#clock = options.clock
  }

  begin(body: RealtimeMessage, inBand: boolean, events: SpokenReplyEvents): Cancellable {
    const ref = `r${++this.#refs}`
    const job: Job = {
      ref,
      inBand,
      body: { ...body, metadata: { ref } },
      events,
      decoders: new Map(),
      state: 'queued',
      id: null,
      cancelled: false,
      timer: null,
    }
    this.#jobs.set(ref, job)
    this.#pump()
    return { cancel: () => this.#cancel(job) }
  }

  /** The connection is gone: everything under way fails with it. */
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

  /** Reads what belongs to a response; false: something else. */
  read(message: RealtimeMessage): boolean {
    switch (message.type) {
      case 'response.created':
        if (isRecord(message.response)) this.#created(message.response)
        return true
      // The second names are those of the protocol before its general availability, which clones keep.
      case 'response.output_audio.delta':
      case 'response.audio.delta':
        this.#audio(message)
        return true
      case 'response.output_audio_transcript.delta':
      case 'response.audio_transcript.delta':
        this.#words(message)
        return true
      case 'response.function_call_arguments.delta':
      case 'response.output_item.added':
        this.#find(message.response_id)?.events.progress()
        return true
      case 'response.done':
        if (isRecord(message.response)) this.#done(message.response)
        return true
      default:
        return typeof message.type === 'string' && message.type.startsWith('response.')
    }
  }

  /** An error that names the message which ordered a response; false: none of ours. */
  rejected(eventId: string, error: RealtimeMessage): boolean {
    const job = this.#jobs.get(eventId)
    if (job === undefined) return false
    if (error.code === 'conversation_already_has_active_response') {
      job.state = 'queued'
      job.id = null
      this.#retry?.cancel()
      this.#retry = this.#clock.after(BUSY_MS, () => {
        this.#retry = null
        this.#pump()
      })
      return true
    }
    this.#over(job)
    if (!job.cancelled) job.events.failed(realtimeError(error, 'the vendor refused to answer'))
    this.#pump()
    return true
  }

  /** Sends what may be sent: everything beside the conversation, the oldest of what belongs to it. */
  #pump(): void {
    for (const job of this.#jobs.values()) {
      if (job.state === 'queued' && (!job.inBand || this.#mayAnswer(job))) {
        job.state = 'sent'
        this.#send({ type: 'response.create', event_id: job.ref, response: job.body })
      }
    }
  }

  #mayAnswer(next: Job): boolean {
    if (this.#strangers.size > 0 || this.#retry !== null) return false
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
      this.#over(job)
      this.#pump()
      return
    }
    // Before it has a name there is nothing to cancel: that is done when it gets one.
    if (job.id !== null) this.#sendCancel(job.id)
    job.timer = this.#clock.after(CANCEL_MS, () => {
      this.#over(job)
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
      this.#strangers.add(id)
      this.#sendCancel(id)
      return
    }
    job.id = id
    if (job.cancelled) this.#sendCancel(id)
  }

  /** A server that has no metadata gives no reference back: then it is the oldest without a name. */
  #ordered(metadata: unknown): Job | undefined {
    if (isRecord(metadata)) return this.#jobs.get(String(metadata.ref))
    if (metadata !== undefined) return undefined
    for (const job of this.#jobs.values()) if (job.state === 'sent' && job.id === null) return job
    return undefined
  }

  #audio({ response_id, item_id, delta }: RealtimeMessage): void {
    const job = this.#find(response_id)
    if (job === undefined || typeof delta !== 'string' || typeof item_id !== 'string') return
    let decode = job.decoders.get(item_id)
    if (decode === undefined) {
      decode = this.#sound.decoder()
      job.decoders.set(item_id, decode)
    }
    const pcm = decode(delta)
    if (pcm.length > 0) job.events.audio(item_id, pcm, this.#sound.rate)
  }

  #words({ response_id, item_id, delta }: RealtimeMessage): void {
    if (typeof delta !== 'string' || typeof item_id !== 'string') return
    this.#find(response_id)?.events.words(item_id, delta)
  }

  #done({ id, status, status_details, output, usage }: RealtimeMessage): void {
    if (typeof id === 'string' && this.#strangers.delete(id)) {
      // That was what stood in the way.
      this.#retry?.cancel()
      this.#retry = null
      this.#pump()
      return
    }
    const job = [...this.#jobs.values()].find((job) => job.id === id)
    if (job === undefined) return
    this.#over(job)
    if (!job.cancelled) tellEnd(job.events, { status, status_details, output, usage })
    this.#pump()
  }

  /** One that was cancelled still sends for a while: nobody wants it. */
  #find(id: unknown): Job | undefined {
    for (const job of this.#jobs.values()) if (job.id !== null && job.id === id && !job.cancelled) return job
    return undefined
  }

  #over(job: Job): void {
    job.state = 'over'
    job.timer?.cancel()
    this.#jobs.delete(job.ref)
  }
}

function tellEnd(
  events: SpokenReplyEvents,
  { status, status_details, output, usage }: RealtimeMessage,
): void {
  if (status === 'failed') {
    events.failed(realtimeError(isRecord(status_details) ? status_details.error : null, 'the vendor gave up'))
    return
  }
  if (status === 'cancelled') {
    events.failed(new EngineError('vendor_failed', 'the vendor broke off its answer', { retryable: true }))
    return
  }
  try {
    // `incomplete` is an answer too, up to where the vendor stopped it.
    events.done(toolCallsOf(output), usageOf(usage))
  } catch (error) {
    events.failed(toVendorFailure(error))
  }
}
