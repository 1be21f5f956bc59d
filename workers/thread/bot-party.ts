import type { AgentSpec } from '../../media/agent/agent-spec.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import { enginePhrases } from '../../media/agent/tts/phrases.js'
import type { Announcement } from '../../media/agent/turn/turn-types.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { AudioFrame, Digit } from '../../media/base/frame.js'
import { BotEndpoint, type BotEndpointOptions } from '../../media/byo/bot-endpoint.js'
import type { BotEvent, BotStats } from '../../media/byo/bot-event.js'
import type { BotSpec } from '../../media/byo/bot-spec.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import type { CloseReason, Endpoint } from '../../media/session/endpoint.js'
import { LoopEndpoint } from '../../media/sounds/endpoints.js'
import type { Party } from '../channel/protocol.js'
import { BotResumption, joinedStats } from './bot-resumption.js'
import { type HostedParty, PARTY, type PartyContext } from './party-context.js'

/** Number of times that a lost bot is dialled again in a call. */
const MAX_RESUMPTIONS = 3

/** The customer's bot and, if there is one, the agent that takes over when the bot cannot be reached or is lost. */
export class BotParty implements HostedParty, Endpoint {
  readonly id = PARTY
  readonly kind = 'byo'
  readonly delivery = 'arrival'
  readonly #spec: BotSpec
  #bot: BotEndpoint
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
  /** The bot is being dialled again. */
  #resumption: BotResumption | null = null
  #resumptions = 0
  #startMs = 0
  /** Statistics of the connections that are closed. */
  #stats: BotStats | null = null

  constructor(
    { bot, fallback }: Extract<Party, { kind: 'bot' }>,
    context: PartyContext,
    openAgent: (agent: AgentSpec) => HostedParty,
  ) {
    this.#context = context
    this.#spec = bot
    this.#inbound = bot.direction === 'inbound'
    this.#fallback = fallback ?? null
    this.#openAgent = openAgent
    this.#bot = this.#openBot(bot)
  }

  #openBot(spec: BotSpec, more: Pick<BotEndpointOptions, 'beganMs'> = {}): BotEndpoint {
    const { host, rate, sendDigits, advancePhase, audioReady, onFault } = this.#context
    const { clock, log, names, settings } = host
    const bot: BotEndpoint = new BotEndpoint({
      ...{ id: PARTY, spec, rate, clock, log, sendDigits, advancePhase, audioReady, onFault, ...more },
      // The organization, as bots know it: names that hang delay only its own calls.
      lookup: names.lookupOf(spec.accountId),
      allowPrivate: settings.allowPrivateUrls,
      emit: (event) => this.#botEvent(bot, event),
    })
    return bot
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
    this.#startMs = this.#context.host.clock.now()
    if (this.#lost !== null) this.#recover()
    else this.#bot.start(sipCallId)
  }

  ready(): boolean {
    return this.#tookOver || this.#resumption !== null || this.#bot.ready()
  }

  pull(into: Int16Array, at: number): boolean {
    return (this.#resumption ?? this.#current).pull(into, at)
  }

  push(frame: AudioFrame): void {
    this.#current.push(frame)
  }

  dtmf(digit: Digit, durationMs: number): void {
    this.#current.dtmf?.(digit, durationMs)
  }

  close(why: CloseReason): void {
    this.#resumption?.close()
    if (!this.#tookOver) this.#closeBot(why)
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
    else if (this.#lost !== null && this.#start !== null) this.#recover()
  }

  get #current(): Endpoint {
    return this.#tookOver && this.#opened !== null ? this.#opened.endpoint : this.#bot
  }

  #botEvent(bot: BotEndpoint, event: BotEvent): void {
    if (event.type === 'bot_stats') {
      this.#stats = joinedStats(this.#stats, event.stats)
      return
    }
    // The end of a connection that was tried again is not that of the bot.
    if (event.type === 'finished' && bot !== this.#bot) return
    const isLost = event.type === 'finished' && event.why === 'bot_disconnected'
    if (!isLost || (this.#fallback === null && bot.resumeToken === null)) {
      this.#context.emit(event)
      return
    }
    this.#lost = event
    if (this.#start !== null) this.#recover()
  }

  /** Dials a lost bot again if it can go on with the call, or lets the agent take over. */
  #recover(): void {
    // While a person has the caller, neither is needed.
    if (this.#away || this.#lost === null || this.#context.isClosed()) return
    const token = this.#bot.resumeToken
    const mayResume = this.#resumptions < MAX_RESUMPTIONS && !this.#bot.isTransferring
    if (token !== null && mayResume) this.#resume(token, this.#lost)
    else if (this.#fallback !== null) this.#takeOver()
    else this.#context.emit(this.#lost)
  }

  #resume(resumeToken: string, lost: BotEvent): void {
    const { host, rate, onFault } = this.#context
    const customParameters = { ...this.#spec.customParameters, resumeToken }
    this.#resumptions++
    this.#lost = null
    this.#bot.close('error')
    this.#resumption = new BotResumption({
      ...{ clock: host.clock, log: host.log, onFault },
      music: host.sounds.load('hold', rate).then((pcm) => new LoopEndpoint(PARTY, pcm)),
      open: () => this.#openBot({ ...this.#spec, customParameters, resumeToken }, { beganMs: this.#startMs }),
      resumed: (bot) => {
        this.#resumption = null
        this.#bot = bot
        bot.start(this.#start?.sipCallId ?? null)
      },
      failed: () => {
        this.#resumption = null
        this.#lost = lost
        this.#resumptions = MAX_RESUMPTIONS
        this.#recover()
      },
    })
  }

  /** Closes the connection to the bot for good, and reports all that it was. */
  #closeBot(why: CloseReason): void {
    this.#bot.close(why)
    if (this.#stats !== null) this.#context.emit({ type: 'bot_stats', stats: this.#stats })
    this.#stats = null
  }

  #takeOver(): void {
    const { log } = this.#context.host
    if (this.#tookOver || this.#fallback === null) return
    try {
      this.#opened ??= this.#openAgent(apologising(this.#fallback))
    } catch (error) {
      log.error({ error: errorText(error) }, 'bot.fallback_failed')
      if (this.#lost !== null) this.#context.emit(this.#lost)
      return
    }
    this.#closeBot('error')
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
