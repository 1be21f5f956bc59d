import type { TurnTrace } from '../../media/agent/conversation-events.js'
import type { CallEvent } from '../../signalling/call/call-events.js'

/** Prints a line to the terminal. */
export const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1).padStart(5)} s`

/** Breaks down the time between the caller's last sound and the agent's first packet. */
function latencyLine(trace: TurnTrace): string | null {
  if (trace.firstPacketMs === null) return null
  const total = trace.firstPacketMs - trace.speechEndMs
  const detection = trace.decidedMs - trace.speechEndMs
  const model = trace.firstSentenceMs === null ? 0 : trace.firstSentenceMs - trace.decidedMs
  const synthesis =
    trace.ttsFirstAudioMs === null || trace.firstSentenceMs === null
      ? 0
      : trace.ttsFirstAudioMs - trace.firstSentenceMs
  const engine = total - detection - model - synthesis
  const ms = (value: number): string => `${Math.round(value)} ms`
  return `reply after ${ms(total)} = detection ${ms(detection)} + model ${ms(model)} + synthesis ${ms(synthesis)} + engine ${ms(engine)}`
}

/** Prints a call's events as they arrive and counts what the final checks need. */
export class Commentary {
  readonly #callId: () => string | null
  #beforeCallId: CallEvent[] = []
  interruptions = 0
  turns = 0
  failures: string[] = []
  readonly ended: Promise<CallEvent & { type: 'ended' }>
  #resolveEnded: (event: CallEvent & { type: 'ended' }) => void = () => {}

  constructor(callId: () => string | null) {
    this.#callId = callId
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
  }

  /** Handles an event. Events may arrive before the API's response has named the call. */
  onEvent(event: CallEvent): void {
    const callId = this.#callId()
    if (callId === null) {
      this.#beforeCallId.push(event)
      return
    }
    if (event.callId === callId) this.#show(event)
  }

  named(): void {
    const early = this.#beforeCallId
    this.#beforeCallId = []
    for (const event of early) this.onEvent(event)
  }

  #show(event: CallEvent): void {
    switch (event.type) {
      case 'dialing':
        say('             -- INVITE sent')
        break
      case 'ringing':
        say('             -- ringing')
        break
      case 'answered':
        say('             -- answered; media connected')
        break
      case 'turn': {
        this.turns += 1
        const { turn } = event
        const cut = turn.cutAtMs === undefined ? '' : `   [stopped at ${seconds(turn.cutAtMs).trim()}]`
        const heard = turn.heardText === '' ? '(nothing was heard)' : turn.heardText
        say(`  ${seconds(turn.startMs)}  ${turn.speaker.padEnd(6)}  ${heard}${cut}`)
        break
      }
      case 'interrupted':
        this.interruptions += 1
        say(`  ${seconds(event.atMs)}  ------  the caller interrupts; the agent stops`)
        break
      case 'resumed':
        say(
          `  ${seconds(event.atMs)}  ------  no words: the agent continues after ${Math.round(event.pausedMs)} ms`,
        )
        break
      case 'trace': {
        const line = latencyLine(event.trace)
        if (line !== null) say(`             ${line}`)
        break
      }
      case 'dtmf':
        say(`  ${seconds(event.atMs)}  caller  [presses ${event.digit}]`)
        break
      case 'tool':
        say(`  ${seconds(event.atMs)}  tool    ${event.name}`)
        break
      case 'trouble':
        this.failures.push(`${event.part}: ${event.message}`)
        say(`  ${seconds(event.atMs)}  FAILURE ${event.part}: ${event.message}`)
        break
      case 'answered_by':
        say(`  ${seconds(event.atMs)}  -- answered by: ${event.by} (${event.evidence})`)
        break
      case 'detected':
        say(`             -- heard: ${event.event.type.replaceAll('_', ' ')}`)
        break
      case 'note':
        say(`  ${seconds(event.atMs)}  -- note for the agent: ${event.text}`)
        break
      case 'agent_took_over':
        say(`  ${seconds(event.atMs)}  -- the agent took over from the bot`)
        break
      case 'bot_stats':
      case 'turn_record':
      case 'usage':
        break
      case 'held':
        say(`             -- ${event.on ? 'on hold' : 'off hold'}`)
        break
      case 'transfer':
        say(`             -- transfer ${event.attempt} to ${event.destination}: ${event.status}`)
        break
      case 'monitored':
        say(`             -- ${event.mode} by ${event.by}: ${event.status}`)
        break
      case 'ended':
        say(`             -- ended by ${event.ending.by}: ${event.ending.cause}`)
        this.#resolveEnded(event)
        break
      default:
        event satisfies never
    }
  }
}
