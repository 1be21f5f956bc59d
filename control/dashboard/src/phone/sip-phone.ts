import { Inviter, SessionState, UserAgent, Web } from 'sip.js'
import { levelMeter } from './level-meter.js'
import { type Phone, type PhoneEnd, type PhoneEvents, type PhoneTicket, release } from './phone.js'

/** Time (ms) for gathering addresses. The service is ICE-lite and needs none of them. */
const GATHERING_MS = 500
/** Time (ms) to be answered. */
const ANSWER_MS = 20_000
/** A broken WebSocket is opened again at this interval (ms), and given up after the time below. */
const RECONNECT_EVERY_MS = 2_000
const RECONNECT_MS = 30_000
/** Time (ms) for new addresses after the media broke. */
const RESTART_MS = 10_000
const TONE = { duration: 160, interToneGap: 70 }

/**
 * Calls over SIP by sip.js. The microphone belongs to the call from now on.
 *
 * @param ticket what the service permitted
 */
export function callBySip(ticket: PhoneTicket, microphone: MediaStream, events: PhoneEvents): Phone {
  return new SipPhone(ticket, microphone, events)
}

class SipPhone implements Phone {
  readonly #microphone: MediaStream
  readonly #events: PhoneEvents
  readonly #agent: UserAgent
  readonly #call: Inviter
  readonly #player = new Audio()
  readonly #mine: ReturnType<typeof levelMeter>
  #theirs: ReturnType<typeof levelMeter> | null = null
  #answered = false
  /** The reason of an end that a later event reports. */
  #end: PhoneEnd = { kind: 'far_end' }
  #isOver = false
  #timer: ReturnType<typeof setTimeout> | null = null
  #reconnectUntil = 0
  readonly #leave = (): void => this.hangUp()

  constructor(ticket: PhoneTicket, microphone: MediaStream, events: PhoneEvents) {
    this.#microphone = microphone
    this.#events = events
    this.#mine = levelMeter(microphone)
    this.#agent = new UserAgent({
      uri: address(ticket.from),
      transportOptions: { server: serverOf(ticket.webSocketUrl), keepAliveInterval: 0 },
      sessionDescriptionHandlerFactory: Web.defaultSessionDescriptionHandlerFactory(async () => microphone),
      sessionDescriptionHandlerFactoryOptions: {
        iceGatheringTimeout: GATHERING_MS,
        peerConnectionConfiguration: {
          iceServers: ticket.iceServers.map((server) => ({ ...server, urls: [...server.urls] })),
          bundlePolicy: 'max-bundle',
          rtcpMuxPolicy: 'require',
        },
      },
      logBuiltinEnabled: false,
      delegate: { onDisconnect: () => this.#disconnected() },
    })
    this.#call = new Inviter(this.#agent, address(ticket.to), {
      extraHeaders: [`Authorization: Bearer ${ticket.ticket}`],
    })
    this.#call.stateChange.addListener((state) => this.#changed(state))
    window.addEventListener('pagehide', this.#leave)
    this.#timer = setTimeout(() => this.#lost(), ANSWER_MS)
    this.#invite().catch(() => this.#lost())
  }

  mute(muted: boolean): void {
    for (const track of this.#microphone.getTracks()) track.enabled = !muted
  }

  press(key: string): void {
    this.#call.sessionDescriptionHandler?.sendDtmf(key, TONE)
  }

  hangUp(): void {
    if (this.#isOver) return
    this.#end = { kind: 'hung_up' }
    const leaving = this.#answered ? this.#call.bye() : this.#call.cancel()
    // The service also notices that the media ended.
    leaving.catch(() => {})
    this.#over()
  }

  levels() {
    return { mine: this.#mine.level(), theirs: this.#theirs?.level() ?? 0 }
  }

  get #peer(): RTCPeerConnection | undefined {
    const media = this.#call.sessionDescriptionHandler
    return media instanceof Web.SessionDescriptionHandler ? media.peerConnection : undefined
  }

  async #invite(): Promise<void> {
    await this.#agent.start()
    if (this.#isOver) return
    await this.#call.invite({
      requestDelegate: {
        onReject: ({ message }) => {
          this.#end = { kind: 'refused', code: message.getHeader('X-Svc-Code') ?? String(message.statusCode) }
        },
      },
    })
    this.#peer?.addEventListener('connectionstatechange', () => this.#mediaChanged())
  }

  #changed(state: SessionState): void {
    // sip.js tells why the service refused after this.
    if (state === SessionState.Terminated) queueMicrotask(() => this.#over())
    if (state !== SessionState.Established || this.#isOver) return
    this.#answered = true
    this.#stopTimer()
    const media = this.#call.sessionDescriptionHandler
    if (media instanceof Web.SessionDescriptionHandler) {
      this.#player.srcObject = media.remoteMediaStream
      // The click that began the call allows it.
      this.#player.play().catch(() => {})
      this.#theirs = levelMeter(media.remoteMediaStream)
    }
    this.#events.answered()
  }

  #disconnected(): void {
    if (this.#isOver) return
    if (!this.#answered) {
      this.#lost()
      return
    }
    this.#events.connection(false)
    this.#reconnectUntil = Date.now() + RECONNECT_MS
    this.#reconnect()
  }

  #reconnect(): void {
    if (this.#isOver) return
    this.#resume().catch(() => {
      if (Date.now() > this.#reconnectUntil) this.#lost()
      else this.#after(RECONNECT_EVERY_MS, () => this.#reconnect())
    })
  }

  /** The service answers over the connection of the latest request (RFC 5626 section 5). */
  async #resume(): Promise<void> {
    await this.#agent.reconnect()
    if (this.#isOver) return
    await this.#call.invite()
    this.#events.connection(true)
  }

  /** Media that broke is given new addresses once; media that the service ended is over. */
  #mediaChanged(): void {
    const state = this.#peer?.connectionState
    if (this.#isOver) return
    if (state === 'closed') this.#lost()
    else if (state === 'connected') this.#stopTimer()
    else if (state === 'failed') {
      this.#after(RESTART_MS, () => this.#lost())
      const media: Web.SessionDescriptionHandlerOptions = { offerOptions: { iceRestart: true } }
      this.#call.invite({ sessionDescriptionHandlerOptions: media }).catch(() => this.#lost())
    }
  }

  #lost(): void {
    if (this.#isOver) return
    this.#end = { kind: 'lost' }
    const leaving = this.#answered ? this.#call.bye() : this.#call.cancel()
    leaving.catch(() => {})
    this.#over()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopTimer()
    window.removeEventListener('pagehide', this.#leave)
    release(this.#microphone)
    this.#player.srcObject = null
    this.#mine.close()
    this.#theirs?.close()
    this.#events.ended(this.#end)
    // The last requests still leave. Then nothing of the call remains.
    this.#agent.stop().catch(() => {})
  }

  #after(ms: number, then: () => void): void {
    this.#stopTimer()
    this.#timer = setTimeout(then, ms)
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

function address(text: string) {
  const uri = UserAgent.makeURI(text)
  if (uri === undefined) throw new Error('the service named an address that is none')
  return uri
}

/** The service's path at the host of this page, which may be reached under another name than its own. */
function serverOf(webSocketUrl: string): string {
  const server = new URL(new URL(webSocketUrl).pathname, location.href)
  server.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return server.href
}
