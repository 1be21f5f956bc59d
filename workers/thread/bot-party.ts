import type { AgentSpec } from '../../media/agent/agent-spec.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import { enginePhrases } from '../../media/agent/tts/phrases.js'
import type { Announcement } from '../../media/agent/turn/turn-types.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { AudioFrame, Digit } from '../../media/base/frame.js'
import { BotEndpoint } from '../../media/byo/bot-endpoint.js'
import type { BotEvent } from '../../media/byo/bot-event.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import type { CloseReason, Endpoint } from '../../media/session/endpoint.js'
import type { Party } from '../channel/protocol.js'
import { type HostedParty, PARTY, type PartyContext } from './party-context.js'

/** The customer's bot and, if there is one, the agent that takes over when the bot cannot be reached or is lost. */
export class BotParty implements HostedParty, Endpoint {
  readonly id = PARTY
  readonly kind = 'byo'
  readonly delivery = 'arrival'
  readonly #bot: BotEndpoint
  readonly #inbound: boolean
  readonly #fallback: AgentSpec | null
  readonly #context: PartyContext
  readonly #openAgent: (agent: AgentSpec) => HostedParty
  /** The agent, opened when the bot is lost. */
  #opened: HostedParty | null = null
  /** The agent has the call. */
  #tookOver = false
  /** Why the call ends if no agent takes over; null while there is a bot. */
  #lost: BotEvent | null = null
  #start: { readonly sipCallId: string | null } | null = null
  #away = false

  constructor(
    { bot, fallback }: Extract<Party, { kind: 'bot' }>,
    context: PartyContext,
    openAgent: (agent: AgentSpec) => HostedParty,
  ) {
    const { clock, log, names, settings } = context.host
    this.#context = context
    this.#inbound = bot.direction === 'inbound'
    this.#fallback = fallback ?? null
    this.#openAgent = openAgent
    this.#bot = new BotEndpoint({
      id: PARTY,
      spec: bot,
      rate: context.rate,
      clock,
      log,
      // The organization, as bots know it: names that hang delay only its own calls.
      lookup: names.lookupOf(bot.accountId),
      allowPrivate: settings.allowPrivateUrls,
      emit: (event) => this.#botEvent(event),
      sendDigits: context.sendDigits,
      advancePhase: context.advancePhase,
      audioReady: context.audioReady,
      onFault: context.onFault,
    })
  }

  get endpoint(): Endpoint {
    return this
  }

  get agent(): AgentSpec | null {
    return this.#tookOver ? this.#fallback : null
  }

  /** Connects to the bot of an inbound call before it is answered; that of an outbound one when the callee answers. */
  async prepare(): Promise<void> {
    if (!this.#inbound || (await this.#bot.connect())) return
    if (this.#fallback === null) throw new EngineError('vendor_unreachable', 'the bot is unreachable')
    this.#opened = this.#openAgent(apologising(this.#fallback))
    await this.#opened.prepare()
  }

  start(sipCallId: string | null): void {
    this.#start = { sipCallId }
    if (this.#lost !== null) this.#takeOver()
    else this.#bot.start(sipCallId)
  }

  ready(): boolean {
    return this.#tookOver || this.#bot.ready()
  }

  pull(into: Int16Array, at: number): boolean {
    return this.#current.pull(into, at)
  }

  push(frame: AudioFrame): void {
    this.#current.push(frame)
  }

  dtmf(digit: Digit, durationMs: number): void {
    this.#current.dtmf?.(digit, durationMs)
  }

  close(why: CloseReason): void {
    if (!this.#tookOver) this.#bot.close(why)
    this.#opened?.endpoint.close(why)
  }

  transferUpdate(update: TransferUpdate): void {
    if (!this.#tookOver) this.#bot.transferUpdate(update)
  }

  detected(event: DetectorEvent): void {
    if (this.#tookOver) this.#opened?.detected?.(event)
  }

  get say(): ((announcement: Announcement) => Promise<SayResult>) | undefined {
    return this.#tookOver ? this.#opened?.say : undefined
  }

  note(text: string): boolean {
    return this.#tookOver && (this.#opened?.note?.(text) ?? false)
  }

  setAway(away: boolean): void {
    this.#away = away
    if (this.#tookOver) this.#opened?.setAway?.(away)
    else if (this.#lost !== null && this.#start !== null) this.#takeOver()
  }

  get #current(): Endpoint {
    return this.#tookOver && this.#opened !== null ? this.#opened.endpoint : this.#bot
  }

  #botEvent(event: BotEvent): void {
    if (event.type !== 'finished' || event.why !== 'bot_disconnected' || this.#fallback === null) {
      this.#context.emit(event)
      return
    }
    this.#lost = event
    if (this.#start !== null) this.#takeOver()
  }

  #takeOver(): void {
    const { log } = this.#context.host
    // While a person has the caller, the agent is not needed.
    if (this.#away || this.#tookOver || this.#context.isClosed() || this.#fallback === null) return
    try {
      this.#opened ??= this.#openAgent(apologising(this.#fallback))
    } catch (error) {
      log.error({ error: errorText(error) }, 'bot.fallback_failed')
      if (this.#lost !== null) this.#context.emit(this.#lost)
      return
    }
    this.#bot.close('error')
    this.#tookOver = true
    const { agentVersionId } = this.#fallback
    this.#context.emit({ type: 'agent_took_over', agentVersionId, atMs: Math.round(this.#context.nowMs()) })
    this.#opened.start(this.#start?.sipCallId ?? null)
  }
}

/** Returns the agent with a line of apology before its opening line. */
function apologising(agent: AgentSpec): AgentSpec {
  const { technicalProblem } = enginePhrases(agent.languages[0] ?? 'en-IN')
  return { ...agent, openingLine: [technicalProblem, agent.openingLine ?? ''].join(' ').trim() }
}
