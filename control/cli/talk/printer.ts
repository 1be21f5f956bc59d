import { sumUsage, type Usage } from '../../../media/agent/conversation/usage-meter.js'
import type { ConversationEvent, TurnRecord } from '../../../media/agent/conversation-events.js'
import { errorText } from '../../../media/base/errors.js'

export interface PrinterOptions {
  write(text: string): void
  /** Prints the delays of each reply. */
  readonly trace: boolean
  /** Prints the session time (s) before each line, and what was interrupted. */
  readonly times: boolean
}

/** Prints a conversation's events and lets the caller wait for the agent's turns. */
export class Printer {
  ended = false
  hasFailed = false
  /** Turns of the report so far. */
  readonly turns: TurnRecord[] = []
  usage: Usage | null = null
  readonly #options: PrinterOptions
  #waiting: (() => void) | null = null

  constructor(options: PrinterOptions) {
    this.#options = options
  }

  /** Resolves with the agent's next complete turn or with the end of the conversation. */
  nextAgentTurn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.ended) resolve()
      else this.#waiting = resolve
    })
  }

  event(event: ConversationEvent): void {
    switch (event.type) {
      case 'turn': {
        const { speaker, text, heardText, startMs, cutAtMs } = event.turn
        if (speaker === 'caller') this.line(`you    ${text}`, startMs)
        else {
          const cut = this.#options.times && cutAtMs !== undefined ? ` … (interrupted, was: ${text})` : ''
          this.line(`agent  ${heardText}${cut}`, startMs)
          this.#wake()
        }
        return
      }
      case 'tool':
        this.line(`tool   ${event.name}(${JSON.stringify(event.arguments)}) -> ${event.result}`, event.atMs)
        return
      case 'resumed':
        if (this.#options.times) {
          this.line(`       continued after ${Math.round(event.pausedMs)} ms: no interruption`, event.atMs)
        }
        return
      case 'trace':
        if (this.#options.trace) this.line(`       ${waited(event.trace)}`, event.trace.firstPacketMs)
        return
      case 'turn_record':
        this.turns.push(event.record)
        return
      case 'usage':
        this.usage = this.usage === null ? event.usage : sumUsage([this.usage, event.usage])
        return
      case 'trouble':
        this.hasFailed = true
        this.line(
          `!      ${event.part}: ${event.code}: ${event.message}${event.instead ? `; ${event.instead} took over` : ''}`,
          event.atMs,
        )
        return
      case 'finished':
        this.line(`       ended: ${event.why}`)
        this.ended = true
        this.#wake()
        return
      default:
        return
    }
  }

  fault(error: unknown): void {
    this.hasFailed = true
    this.ended = true
    this.line(`!      ${errorText(error)}`)
    this.#wake()
  }

  /** `atMs` is session time. */
  line(text: string, atMs: number | null = null): void {
    const at = !this.#options.times ? '' : atMs === null ? '         ' : `${seconds(atMs).padStart(7)}  `
    this.#options.write(`${at}${text}\n`)
  }

  #wake(): void {
    const wake = this.#waiting
    this.#waiting = null
    wake?.()
  }
}

/** Formats the delays of a reply, counted from the end of the caller's speech. */
function waited(trace: (ConversationEvent & { type: 'trace' })['trace']): string {
  const since = (ms: number | null): string =>
    ms === null ? '-' : `${Math.round(ms - trace.speechEndMs)} ms`
  const parts = [
    `asked after ${since(trace.decidedMs)}`,
    `first token ${since(trace.modelFirstTokenMs)}`,
    `first sentence ${since(trace.firstSentenceMs)}`,
    `first sound ${since(trace.ttsFirstAudioMs)}`,
    `heard ${since(trace.firstPacketMs)}`,
  ]
  return parts.join(', ')
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2)
}
