import type { Clock } from '../../media/base/clock.js'
import { maskSecrets, type TracedMessage } from './trace-mask.js'
import type { WireMessage } from './wire-tap.js'

/**
 * The SIP messages of one call and of the legs that it placed, as the application saw them: without
 * retransmissions and without the server's 100.
 */
export interface SipTrace {
  readonly callId: string
  /** Call-ID of the dialog with which the call began. */
  readonly sipCallId: string
  readonly trunkId: string | null
  readonly messages: readonly TracedMessage[]
  /** Number of messages left out for lack of room. */
  readonly dropped: number
}

export interface TraceLimits {
  /** Number of calls with a trace; the oldest is dropped first. */
  readonly calls: number
  /** Number of INVITEs kept that belong to no call (yet). */
  readonly unassignedInvites: number
  readonly messagesPerCall: number
  readonly messageBytes: number
  /** Total over all calls. */
  readonly bytes: number
}

export const TRACE_LIMITS: TraceLimits = {
  calls: 2_000,
  unassignedInvites: 200,
  messagesPerCall: 200,
  messageBytes: 16_384,
  bytes: 64 * 1024 * 1024,
}

interface CallTrace {
  callId: string | null
  trunkId: string | null
  /** Call-IDs of its dialogs, first that with which the call began. */
  readonly sipCallIds: string[]
  readonly messages: TracedMessage[]
  bytes: number
  dropped: number
}

/**
 * Keeps the messages of live calls in bounded memory. A tap on the connection to the SIP server feeds it, so
 * that traces are the same with an embedded and an external server.
 */
export class SipTraceStore {
  readonly #clock: Pick<Clock, 'wall'>
  readonly #limits: TraceLimits
  readonly #calls = new Map<string, CallTrace>()
  readonly #unassigned = new Map<string, CallTrace>()
  readonly #byCall = new Map<string, CallTrace>()
  #bytes = 0
  /** Called after each message of an identified call. */
  onChange: ((callId: string) => void) | null = null

  constructor(clock: Pick<Clock, 'wall'>, limits: TraceLimits = TRACE_LIMITS) {
    this.#clock = clock
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds a message. Messages outside of INVITE dialogs are not kept. */
  add(wire: WireMessage): void {
    const { messageBytes, messagesPerCall, unassignedInvites, bytes } = this.#limits
    const message = this.#read(wire, wire.text.slice(0, messageBytes))
    const sipCallId = headerOf(message, 'call-id', 'i')
    if (sipCallId === null) return
    let trace = this.#calls.get(sipCallId) ?? this.#unassigned.get(sipCallId)
    if (trace === undefined) {
      if (!message.startLine.startsWith('INVITE ')) return
      trace = newTrace(sipCallId)
      this.#unassigned.set(sipCallId, trace)
      if (this.#unassigned.size > unassignedInvites) this.#dropOldest(this.#unassigned)
    }
    if (trace.messages.length >= messagesPerCall) {
      trace.dropped += 1
    } else {
      const size = Math.min(wire.text.length, messageBytes)
      trace.messages.push(message)
      trace.bytes += size
      this.#bytes += size
      while (this.#bytes > bytes && this.#unassigned.size > 0) this.#dropOldest(this.#unassigned)
      while (this.#bytes > bytes && this.#calls.size > 0) this.#dropOldest(this.#calls)
    }
    if (trace.callId !== null) this.onChange?.(trace.callId)
  }

  /**
   * Assigns the messages of a SIP Call-ID to a call. The first dialog of a call tells its trunk; a further one is a leg
   * that the call places before its first message.
   */
  begin(callId: string, sipCallId: string, trunkId: string | null): void {
    // A caller may reuse a Call-ID: the later call keeps it.
    const former = this.#calls.get(sipCallId)
    if (former) this.#drop(this.#calls, former)
    const begun = this.#byCall.get(callId)
    if (begun !== undefined) {
      begun.sipCallIds.push(sipCallId)
      this.#calls.set(sipCallId, begun)
      return
    }
    const trace = this.#unassigned.get(sipCallId) ?? newTrace(sipCallId)
    this.#unassigned.delete(sipCallId)
    trace.callId = callId
    trace.trunkId = trunkId
    this.#calls.set(sipCallId, trace)
    this.#byCall.set(callId, trace)
    if (this.#byCall.size > this.#limits.calls) this.#dropOldest(this.#calls)
    this.onChange?.(callId)
  }

  get(callId: string): SipTrace | null {
    const trace = this.#byCall.get(callId)
    if (trace === undefined) return null
    const { sipCallIds, trunkId, messages, dropped } = trace
    const [sipCallId = ''] = sipCallIds
    return { callId, sipCallId, trunkId, messages: [...messages], dropped }
  }

  forget(callId: string): void {
    const trace = this.#byCall.get(callId)
    if (trace !== undefined) this.#drop(this.#calls, trace)
  }

  #dropOldest(table: Map<string, CallTrace>): void {
    for (const trace of table.values()) {
      this.#drop(table, trace)
      return
    }
  }

  #drop(table: Map<string, CallTrace>, trace: CallTrace): void {
    for (const sipCallId of trace.sipCallIds) table.delete(sipCallId)
    if (trace.callId !== null) this.#byCall.delete(trace.callId)
    this.#bytes -= trace.bytes
  }

  #read({ direction, transport, peer }: WireMessage, text: string): TracedMessage {
    const end = text.indexOf('\r\n\r\n')
    const head = end < 0 ? text : text.slice(0, end)
    const [startLine = '', ...lines] = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
    const headers = lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, Math.max(0, colon)).trim(), line.slice(colon + 1).trim()] as const
    })
    const message = {
      at: this.#clock.wall(),
      direction,
      transport: transport || transportOfVia(headers),
      peer,
      startLine,
      headers,
      body: end < 0 ? '' : text.slice(end + 4),
    }
    return maskSecrets(message)
  }
}

function newTrace(sipCallId: string): CallTrace {
  return { callId: null, trunkId: null, sipCallIds: [sipCallId], messages: [], bytes: 0, dropped: 0 }
}

/** Returns the transport in the top Via. A drachtio-server does not name the transport of every message. */
function transportOfVia(headers: TracedMessage['headers']): string {
  const via = headerOf({ headers }, 'via', 'v') ?? ''
  return /^SIP\s*\/\s*2\.0\s*\/\s*(\w+)/i.exec(via)?.[1]?.toLowerCase() ?? ''
}

/** Returns the first value of a header by its long or compact name (lower case); null when there is none. */
export function headerOf(
  message: Pick<TracedMessage, 'headers'>,
  name: string,
  compact: string,
): string | null {
  const found = message.headers.find(([given]) => [name, compact].includes(given.toLowerCase()))
  return found?.[1] ?? null
}
